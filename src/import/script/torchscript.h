// What a TorchScript module did in one forward pass, as a Network. Without LibTorch: a worker ran it.
#pragma once

#include <string>

#include "import/import.h"
#include "network/recorded_pass.h"

namespace ampere {

// `name` is the network's, `where` names the file in errors. Throws Error{kBadInput}: what is wrong with the
// pass, or every op that is not supported, with where it occurs.
Imported import_torchscript(const RecordedPass& pass, const std::string& name, const std::string& where,
                            const ImportOptions& options = {});

// True for a path that ends in .pt or .pth.
bool is_torchscript_path(const std::string& path);

}  // namespace ampere
