#include "protocol/recording.h"

namespace ampere {

Recording::Recording(const std::string& path) : path_(path), file_(path, std::ios::app) {
  if (!file_) throw bad_input(path + ": cannot be written; AMPERE_RECORD must name a file to append to");
}

void Recording::add(const Request& request, const Response& response) {
  Json line = {{"request", {{"verb", request.verb}, {"params", request.params}}}};
  if (response.error) {
    line["error"] = {{"kind", to_word(response.error->kind())}, {"message", response.error->what()}};
  } else {
    line["result"] = response.result;
  }
  // At once: what was answered before a run is stopped is kept.
  file_ << line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n" << std::flush;
  if (!file_) throw Error(ErrorKind::kFailed, path_ + ": cannot be written any more; is the disk full?");
}

}  // namespace ampere
