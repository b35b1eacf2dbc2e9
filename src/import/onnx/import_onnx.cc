#include <algorithm>

#include "base/error.h"
#include "import/import.h"
#include "import/onnx/importer.h"
#include "import/onnx/onnx_model.h"
#include "import/onnx/patterns.h"

namespace ampere {
namespace {

constexpr std::int64_t kOldestOpset = 7;
constexpr std::int64_t kNewestOpset = 21;

std::string stem_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return name.size() > 5 ? name.substr(0, name.size() - 5) : name;
}

Imported import_model(onnx::Model model, const std::string& name, const std::string& where,
                      const ImportOptions& options) {
  if (model.opset < kOldestOpset || model.opset > kNewestOpset) {
    throw bad_input(where + ": opset " + std::to_string(model.opset) +
                    " is not supported (7 to 21 are); export with opset_version=17");
  }
  onnx::inline_functions(model, where);
  onnx::merge_patterns(model);
  return Importer(model, options, where).run(name);
}

}  // namespace

Imported import_onnx(const std::string& path, const ImportOptions& options) {
  return import_model(onnx::read_model_file(path), stem_of(path), path, options);
}

Imported import_onnx(const void* data, std::size_t size, const std::string& name, const std::string& where,
                     const ImportOptions& options) {
  return import_model(onnx::read_model(data, size, where), name, where, options);
}

std::optional<std::int64_t> onnx_batch(const std::string& path) {
  try {
    const onnx::Model model = onnx::read_model_file(path);
    for (const onnx::Declared& in : model.inputs) {
      if (model.initializers.count(in.name) == 0 && !in.dims.empty() && in.dims[0].value > 0)
        return std::min(in.dims[0].value, kMaxWidth);
    }
  } catch (const Error&) {
    // Told when the file is imported.
  }
  return std::nullopt;
}

bool is_onnx_path(const std::string& path) {
  return path.size() > 5 && path.compare(path.size() - 5, 5, ".onnx") == 0;
}

}  // namespace ampere
