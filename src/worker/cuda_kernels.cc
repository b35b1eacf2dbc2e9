#include "worker/cuda_kernels.h"

#include <cuda.h>
#include <dlfcn.h>

#include <set>
#include <type_traits>

#include "worker/kernel_name.h"

namespace ampere::worker {
namespace {

#if CUDA_VERSION >= 12030

// The runtime does not know kernels that libraries load by themselves; the driver does, and is loaded
// already.
struct Driver {
  CUresult (*params)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2*) = nullptr;
  CUresult (*function_name)(const char**, CUfunction) = nullptr;
  CUresult (*kernel_name)(const char**, CUkernel) = nullptr;

  bool complete() const { return params && function_name && kernel_name; }

  static const Driver& loaded() {
    static const Driver driver = [] {
      Driver d;
      void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
      if (!library) return d;
      const auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      };
      find(d.params, "cuGraphKernelNodeGetParams_v2");
      find(d.function_name, "cuFuncGetName");
      find(d.kernel_name, "cuKernelGetName");
      return d;
    }();
    return driver;
  }
};

std::string name_of(CUgraphNode node, const Driver& driver) {
  CUDA_KERNEL_NODE_PARAMS_v2 params{};
  if (driver.params(node, &params) != CUDA_SUCCESS) return "";
  const char* name = nullptr;
  if (params.kern && driver.kernel_name(&name, params.kern) == CUDA_SUCCESS && name) return name;
  if (params.func && driver.function_name(&name, params.func) == CUDA_SUCCESS && name) return name;
  return "";
}

cudaGraph_t graph_being_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status{};
  cudaGraph_t graph = nullptr;
#if CUDA_VERSION >= 13000
  const cudaError_t result =
      cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr, nullptr);
#else
  const cudaError_t result = cudaStreamGetCaptureInfo_v2(stream, &status, nullptr, &graph, nullptr, nullptr);
#endif
  return result == cudaSuccess && status == cudaStreamCaptureStatusActive ? graph : nullptr;
}

#endif

std::vector<std::string> names_in([[maybe_unused]] cudaStream_t stream) {
  std::set<std::string> mangled;
#if CUDA_VERSION >= 12030
  const Driver& driver = Driver::loaded();
  const cudaGraph_t graph = graph_being_captured(stream);
  std::size_t count = 0;
  if (!graph || !driver.complete() || cudaGraphGetNodes(graph, nullptr, &count) != cudaSuccess) return {};
  std::vector<cudaGraphNode_t> nodes(count);
  if (cudaGraphGetNodes(graph, nodes.data(), &count) != cudaSuccess) return {};
  nodes.resize(count);
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    if (cudaGraphNodeGetType(node, &type) != cudaSuccess || type != cudaGraphNodeTypeKernel) continue;
    const std::string name = name_of(node, driver);
    if (name.empty()) return {};  // half a list would look like other kernels
    mangled.insert(name);
  }
#endif
  std::set<std::string> names;
  for (const std::string& name : mangled) names.insert(short_kernel_name(name));
  return {names.begin(), names.end()};
}

}  // namespace

std::vector<std::string> captured_kernels(cudaStream_t stream) {
  std::vector<std::string> names = names_in(stream);
  cudaGetLastError();  // names are not worth failing for
  return names;
}

}  // namespace ampere::worker
