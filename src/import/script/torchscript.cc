#include "import/script/torchscript.h"

#include "import/script/script_import.h"

namespace ampere {

Imported import_torchscript(const RecordedPass& pass, const std::string& name, const std::string& where,
                            const ImportOptions& options) {
  return script::ScriptImport(pass, options, where).run(name);
}

bool is_torchscript_path(const std::string& path) {
  const auto ends = [&](const std::string& end) {
    return path.size() > end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0;
  };
  return ends(".pt") || ends(".pth");
}

}  // namespace ampere
