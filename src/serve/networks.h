// The networks that a server was sent or asked for by name. Files are read in processes of their own, and
// kept in a folder by what is in them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "serve/lru.h"
#include "serve/options.h"
#include "session/load_model.h"

namespace ampere {

struct ServedNetwork {
  std::string id;  // 32 hex digits, or the name of a zoo network
  LoadedModel loaded;
  std::int64_t batch = 1;  // that it was exported with, or 1
  Json info;               // what GET /networks/{id} says

  // Different layers are compared with each other, which takes time and memory by the square of their number.
  // Of large networks that is not done within the server, where nothing would limit it.
  bool is_large = false;
};
using ServedNetworkPtr = std::shared_ptr<const ServedNetwork>;

// How a file is read: what `ampere convert` takes as options.
struct ReadingOptions {
  std::vector<std::string> inputs = {};           // of TorchScript files
  std::map<std::string, std::int64_t> dims = {};  // of ONNX files
  std::optional<std::int64_t> batch = {};
  bool restore_batchnorm = false;
  bool ignore_unsupported = false;
};

// All members may be called by several threads.
class Networks {
 public:
  // The folder must be there. `program` and `worker` as in ServeOptions.
  Networks(std::string folder, const ServeOptions& options);

  // Takes the file, which is moved or removed. `name` is what its owner calls it, and tells the format.
  // Throws Error{kBadInput} in the importer's words, HttpError where it takes too long or too much.
  ServedNetworkPtr add(const std::string& file, const std::string& name, const ReadingOptions& options);
  // A network file's contents that came of our own work.
  ServedNetworkPtr add(const Network& network, const std::string& name);

  // {"zoo": "resnet18"} or {"id": "..."}. With other `dims` a file is read again, and a zoo network made with
  // those parameters. Throws HttpError{404}, MustWait where it would have to wait and may not.
  ServedNetworkPtr find(const Json& which, const std::map<std::string, std::int64_t>& dims, bool may_wait);
  ServedNetworkPtr find_id(const std::string& id);

  // The network file of one, for programs that take a path; that of a zoo network is its name.
  std::string model_argument(const ServedNetwork& network) const;
  // Where uploads are put before they are added, on the same disk.
  std::string scratch_path();

 private:
  ServedNetworkPtr read(const std::string& upload, const Json& how);
  ServedNetworkPtr kept(const std::string& id);
  ServedNetworkPtr keep(const std::string& id, const Network& network, const Json& info);
  void make_room();
  std::string path(const std::string& id, const std::string& ending) const;

  std::string folder_;
  const ServeOptions& options_;
  std::mutex mutex_;
  Lru<ServedNetworkPtr> parsed_{256};
  std::uint64_t scratch_ = 0;
};

}  // namespace ampere
