#include "worker/script_file.h"

#include <sys/resource.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "worker/host.h"
#include "worker/op_recorder.h"
#include "worker/translate.h"

namespace ampere::worker {
namespace {

constexpr std::size_t kLongestReason = 400;

void limit(int what, rlim_t value) {
  const rlimit now{value, value};
  setrlimit(static_cast<__rlimit_resource>(what), &now);
}

// TorchScript can open and overwrite files, also while it is being loaded.
void lock_down() {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_DATA, static_cast<rlim_t>(host_free_memory()));
  limit(RLIMIT_NOFILE, 0);
}

// The interpreter tells a stack of its own calls first; what went wrong stands in the last line.
std::string reason(const std::string& text) {
  std::string last;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string::npos && line.find_first_not_of(" \t~<-.^") != std::string::npos) {
      if (last.empty() || line.find("Error: ") != std::string::npos) last = line.substr(first);
    }
    at = end + 1;
  }
  return last.substr(0, kLongestReason);
}

// What a framework throws about a file is wrong with the file, unless it is about memory.
Error about_file(const TraceRequest& request, ErrorKind kind, const std::string& what,
                 const std::exception_ptr& thrown, const std::string& advice) {
  const Error error = translate(thrown);
  if (error.kind() == ErrorKind::kBadInput) return bad_input(request.path + ": " + error.what());
  std::string why = error.what();
  try {
    std::rethrow_exception(thrown);
  } catch (const c10::Error& e) {
    why = reason(e.what_without_backtrace());
  } catch (const std::exception& e) {
    why = reason(e.what());
  } catch (...) {
    why = "for a reason that cannot be told";
  }
  const std::string message = request.path + ": " + what + " (" + why + ")";
  if (error.kind() == ErrorKind::kOutOfMemory) return {error.kind(), message};
  return {kind, message + advice};
}

torch::jit::Module load(std::istream& file) {
  torch::jit::Module module = torch::jit::load(file, torch::kCPU);
  // The recipe decides on the precision of training, not the file.
  auto widen = [](const at::Tensor& tensor) {
    if (tensor.defined() && tensor.is_floating_point()) tensor.set_data(tensor.to(torch::kFloat));
  };
  for (const at::Tensor& tensor : module.parameters()) widen(tensor);
  for (const at::Tensor& tensor : module.buffers()) widen(tensor);
  module.train();
  return module;
}

std::string signature(const c10::FunctionSchema& schema) {
  std::string text;
  for (std::size_t i = 1; i < schema.arguments().size(); ++i) {
    const c10::Argument& a = schema.arguments()[i];
    text += (i > 1 ? ", " : "") + a.name() + ": " + a.type()->annotation_str();
    if (a.default_value()) text += " (may be left out)";
  }
  return "forward(" + text + ")";
}

std::vector<c10::IValue> make_inputs(const TraceRequest& request, const c10::FunctionSchema& schema) {
  const std::size_t takes = schema.arguments().size() - 1;
  std::size_t needs = takes;
  auto optional = [&](std::size_t i) {
    const c10::Argument& a = schema.arguments()[i];
    return a.default_value().has_value() || a.type()->kind() == c10::TypeKind::OptionalType;
  };
  while (needs > 0 && optional(needs)) --needs;
  if (request.inputs.size() < needs || request.inputs.size() > takes) {
    throw bad_input("its " + signature(schema) + " was given " + std::to_string(request.inputs.size()) +
                    (request.inputs.size() == 1 ? " input" : " inputs") +
                    "; say the shape of each, without the batch: --input 3x224x224, --input int:128");
  }
  std::vector<c10::IValue> values;
  for (const TraceInput& input : request.inputs) {
    std::vector<std::int64_t> dims = input.shape;
    dims.insert(dims.begin() + input.batch_axis, request.batch);
    // 0 and 1 are in every vocabulary.
    values.emplace_back(input.integer ? torch::randint(2, dims, torch::kLong) : torch::randn(dims));
  }
  for (std::size_t i = values.size() + 1; i < schema.arguments().size(); ++i) {
    const auto& given = schema.arguments()[i].default_value();
    values.push_back(given ? *given : c10::IValue());
  }
  return values;
}

RecordedPass run(torch::jit::Module& module, const TraceRequest& request) {
  const auto method = module.find_method("forward");
  if (!method) throw bad_input("it has no forward method");
  const std::vector<c10::IValue> inputs = make_inputs(request, method->function().getSchema());
  // Optimised, the interpreter fuses and inlines what is to be seen.
  torch::jit::setGraphExecutorOptimize(false);
  torch::NoGradGuard no_gradients;
  OpRecorder recorder(module, request.batch);
  for (std::size_t i = 0; i < request.inputs.size(); ++i)
    recorder.add_input(inputs[i].toTensor(), request.inputs[i].batch_axis);
  const c10::IValue output = module.forward(inputs);
  return recorder.finish(output);
}

}  // namespace

void require_file(const std::string& path) {
  namespace fs = std::filesystem;
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const std::string here =
      std::string(" on the worker's machine") + (*host ? " (" + std::string(host) + ")" : "");
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  if (fs::is_directory(status)) throw bad_input(path + ": is a folder" + here + ", not a file");
  if (!fs::exists(status)) {
    throw bad_input(path + ": there is no such file" + here +
                    "; a TorchScript file is loaded there, so copy it there and name it by its path there");
  }
  if (!fs::is_regular_file(status)) throw bad_input(path + ": is no ordinary file" + here);
  if (access(path.c_str(), R_OK) != 0)
    throw bad_input(path + ": cannot be read" + here + "; check its permissions");
}

RecordedPass run_script_file(const TraceRequest& request, bool locked) {
  require_file(request.path);
  std::ifstream file(request.path, std::ios::binary);
  if (!file) throw bad_input(request.path + ": cannot be opened");
  torch::manual_seed(1);  // reads the system's random numbers once, which a locked process cannot
  if (locked) lock_down();
  torch::jit::Module module;
  try {
    module = load(file);
  } catch (...) {
    throw about_file(
        request, ErrorKind::kBadInput, "cannot be loaded as TorchScript", std::current_exception(),
        "; save it with torch.jit.script(net).save(FILE) or torch.jit.trace(net, x).save(FILE): weights "
        "alone (a state_dict) and pickled modules say nothing of the network");
  }
  try {
    return run(module, request);
  } catch (...) {
    throw about_file(request, ErrorKind::kForwardFailed, "its forward pass failed", std::current_exception(),
                     "; does --input fit the network?");
  }
}

}  // namespace ampere::worker
