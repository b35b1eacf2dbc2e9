#include "serve/api_words.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "serve/api.h"

namespace ampere {
namespace {

const std::set<std::string>& fields_of_requests() {
  static const std::set<std::string> fields = [] {
    std::set<std::string> all;
    for (const ApiRoute& route : api_routes()) {
      const Json body =
          route.body.is_null() ? Json::object() : route.body.value("properties", Json::object());
      for (const auto& [name, unused] : body.items()) all.insert(name);
      for (const auto& [name, unused] : route.query.items()) all.insert(name);
    }
    return all;
  }();
  return fields;
}

// "/home/somebody/net.onnx: no such file" -> "net.onnx: no such file". One part alone is no path, but a
// share: J/kWh.
std::string without_paths(std::string_view text) {
  constexpr std::string_view kBefore = " \t\"'(=", kAfter = " \t\"'():;,";
  std::string out;
  while (!text.empty()) {
    const bool begins =
        text.front() == '/' && (out.empty() || kBefore.find(out.back()) != std::string_view::npos);
    const std::string_view path =
        begins ? text.substr(0, std::min(text.find_first_of(kAfter), text.size())) : "";
    if (std::count(path.begin(), path.end(), '/') > 1 && path.rfind("/api/", 0) != 0) {
      out += path.substr(path.rfind('/') + 1);
      text.remove_prefix(path.size());
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

// What begins here as an option does: "--dim" of "--dim NAME=SIZE"; nothing where none does.
std::string_view option_at(std::string_view text) {
  if (text.rfind("--", 0) != 0 || text.size() < 3 || text[2] < 'a' || text[2] > 'z') return "";
  return text.substr(0, std::min(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", 2), text.size()));
}

// "run: ampere profile lenet5 --batch 10" in a request's words.
std::string with_jobs(std::string line) {
  const std::string command = "ampere profile";
  for (std::size_t at = 0; (at = line.find(command, at)) != std::string::npos;) {
    std::size_t length = std::min(line.find_first_of(";,", at), line.size()) - at;
    for (const std::string_view run : {"run: ", "run "}) {
      if (at >= run.size() && line.compare(at - run.size(), run.size(), run) == 0) {
        at -= run.size();
        length += run.size();
        break;
      }
    }
    line.replace(at, length, "POST /api/v1/jobs");
  }
  return line;
}

std::string line_in_api_words(const std::string& line, std::vector<std::string>& fields) {
  std::string told;
  std::size_t strange = std::string::npos;
  for (std::string_view rest = line; !rest.empty();) {
    const std::string_view option = option_at(rest);
    if (option.empty()) {
      told += rest.front();
      rest.remove_prefix(1);
      continue;
    }
    std::string field(option.substr(2));
    std::replace(field.begin(), field.end(), '-', '_');
    if (fields_of_requests().count(field) == 0)
      strange = std::min(strange, told.size());
    else if (std::find(fields.begin(), fields.end(), field) == fields.end())
      fields.push_back(field);
    told += field;
    rest.remove_prefix(option.size());
  }
  // The part of the sentence that it stands in.
  const std::size_t before = strange == std::string::npos ? strange : told.rfind(';', strange);
  return told.substr(0, before);
}

}  // namespace

ApiWords in_api_words(const std::string& text) {
  ApiWords words;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string line = text.substr(start, end - start);
    words.text += (start > 0 ? "\n" : "") + line_in_api_words(with_jobs(without_paths(line)), words.fields);
    start = end + 1;
  }
  // Where a command would have followed.
  const std::string dangling = ", or";
  if (words.text.size() > dangling.size() &&
      words.text.compare(words.text.size() - dangling.size(), dangling.size(), dangling) == 0)
    words.text.resize(words.text.size() - dangling.size());
  return words;
}

}  // namespace ampere
