#include "serve/limited.h"

#include "serve/child.h"
#include "serve/http.h"

namespace ampere {
namespace {

std::string in_place_of(std::string text, const std::string& path, const std::string& name) {
  for (std::size_t at = 0; (at = text.find(path, at)) != std::string::npos; at += name.size())
    text.replace(at, path.size(), name);
  return text;
}

}  // namespace

ErrorKind kind_of_exit(int status) {
  for (const ErrorKind kind : {ErrorKind::kBadInput, ErrorKind::kNoMeter, ErrorKind::kOverBudget,
                               ErrorKind::kUnstable, ErrorKind::kNotProfiled}) {
    if (exit_code(kind) == status) return kind;
  }
  return ErrorKind::kFailed;
}

std::string told_error(const std::string& errors) {
  std::string text = errors;
  // Notes may stand before it; the last message is why it ended.
  const std::string mark = "ampere: ";
  if (text.rfind(mark, 0) == 0) text = "\n" + text;
  const std::size_t last = text.rfind("\n" + mark);
  if (last != std::string::npos) text = text.substr(last + 1 + mark.size());
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

Json run_limited(const std::vector<std::string>& words, const ServeOptions& options,
                 const std::vector<std::pair<std::string, std::string>>& names) {
  const ServeLimits& limits = options.limits;
  if (options.program.empty())
    throw HttpError(501, "failed", "this server starts no processes, and this would take one");
  std::vector<std::string> command = {options.program};
  command.insert(command.end(), words.begin(), words.end());
  ChildOptions child;
  child.most_bytes = limits.child_bytes;
  child.most_s = limits.child_s;
  child.most_file_bytes = limits.upload_bytes;
  if (options.ending) child.stop = [&] { return options.ending->load(); };
  const ChildEnd end = run_child(command, child);
  if (end.stopped) throw HttpError(503, "busy", "this server is ending");
  const std::string& verb = words.front();
  if (end.late)
    throw HttpError(422, "limit",
                    "ampere " + verb + " took longer than " +
                        std::to_string(static_cast<int>(limits.child_s)) +
                        " s, which is this server's limit");
  if (end.too_much) throw HttpError(422, "limit", "ampere " + verb + " said more than this server takes");
  Json told = Json::parse(end.output, nullptr, false);
  if (!told.is_discarded() && told.is_object()) return told;
  std::string why = told_error(end.errors);
  for (const auto& [path, name] : names) why = in_place_of(why, path, name);
  if (end.status < 0 || why.find("bad_alloc") != std::string::npos || why.empty())
    throw HttpError(422, "limit",
                    "ampere " + verb +
                        " was ended by a limit of this server: " + std::to_string(limits.child_bytes >> 20) +
                        " MiB of memory, " + std::to_string(static_cast<int>(limits.child_s)) + " s");
  throw Error(kind_of_exit(end.status), why);
}

}  // namespace ampere
