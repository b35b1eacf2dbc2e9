// Keeping what a worker was asked and answered, so that tools/replay_worker can answer the same without the
// device.
//
// JSON lines, one for each exchange, in the order they happened:
//   {"request":{"verb":"measure","params":{...}},"result":{...}}
//   {"request":{"verb":"measure","params":{...}},"error":{"kind":"out_of_memory","message":"..."}}
#pragma once

#include <fstream>
#include <string>

#include "protocol/messages.h"

namespace ampere {

class Recording {
 public:
  // Appends to what the file at `path` holds already. Throws Error{kBadInput} when it cannot be opened.
  explicit Recording(const std::string& path);
  // Throws Error{kFailed} when it cannot be written any more.
  void add(const Request& request, const Response& response);

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace ampere
