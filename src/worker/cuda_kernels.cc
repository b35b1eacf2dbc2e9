#include "worker/cuda_kernels.h"

#include <cuda.h>
#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>

namespace ampere {
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

std::uint32_t hash_of(const std::string& text) {  // FNV-1a
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

// "void at::native::elementwise_kernel<128, 4, ...>(int, ...)" to "elementwise_kernel~1f2e3d4c": templates
// run to a thousand characters, and what they say is in the hash.
std::string short_name(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> whole(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  std::string name = whole ? whole.get() : mangled;
  name = name.substr(0, name.find_first_of("<("));
  const auto qualifier = name.find_last_of(": ");
  if (qualifier != std::string::npos) name = name.substr(qualifier + 1);
  constexpr std::size_t kLongest = 60;
  char hash[10];
  std::snprintf(hash, sizeof hash, "~%08x", hash_of(mangled));
  return name.substr(0, kLongest) + hash;
}

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

}  // namespace

std::vector<std::string> captured_kernels([[maybe_unused]] cudaStream_t stream) {
  std::set<std::string> names;
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
    if (!name.empty()) names.insert(short_name(name));
  }
#endif
  return {names.begin(), names.end()};
}

}  // namespace ampere
