#include "session/script_model.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/plain_text.h"
#include "import/script/torchscript.h"

namespace ampere {
namespace {

// Two samples show which dimension is the batch, and are enough for a batch norm.
constexpr std::int64_t kTraceBatch = 2;
constexpr std::size_t kMaxDigits = 8;

[[noreturn]] void bad_shape(const std::string& text) {
  throw bad_input(
      "--input must be the shape of one sample, such as 3x224x224, int:128 or 35xNx200 (N: the batch, where "
      "it does not come first), found \"" +
      text + "\"");
}

std::string absolute(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown)) return path;  // perhaps the worker's machine has it
  const std::string whole = std::filesystem::absolute(path, unknown).string();
  return unknown ? path : whole;
}

}  // namespace

TraceInput parse_input(const std::string& text) {
  TraceInput input;
  std::string rest = text;
  if (rest.rfind("int:", 0) == 0 || rest.rfind("float:", 0) == 0) {
    input.integer = rest[0] == 'i';
    rest = rest.substr(rest.find(':') + 1);
  }
  bool batch_told = false;
  for (std::size_t at = 0; at <= rest.size();) {
    const std::size_t end = std::min(rest.find('x', at), rest.size());
    const std::string word = rest.substr(at, end - at);
    at = end + 1;
    if (word == "N" && !batch_told) {
      batch_told = true;
      input.batch_axis = static_cast<int>(input.shape.size());
      continue;
    }
    const bool digits = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || word.size() > kMaxDigits || std::stoll(word) < 1) bad_shape(text);
    input.shape.push_back(std::stoll(word));
  }
  if (input.shape.empty()) bad_shape(text);
  return input;
}

Imported load_script(const std::string& path, const std::vector<std::string>& inputs, std::int64_t batch,
                     const ImportOptions& options, const WorkerOptions& worker) {
  TraceRequest request;
  request.path = absolute(path);
  // The protocol is JSON, which has no way to write such a name.
  if (!is_utf8(request.path)) {
    throw bad_input(
        request.path +
        ": the name has bytes that are not UTF-8, which cannot be told to the worker; rename the file "
        "or its folder");
  }
  for (const std::string& input : inputs) request.inputs.push_back(parse_input(input));
  request.batch = kTraceBatch;
  WorkerClient client(worker);
  RecordedPass pass;
  try {
    pass = client.trace(request);
  } catch (const Error& first) {
    // Some modules are made for one batch size only.
    if (first.kind() != ErrorKind::kForwardFailed || batch == kTraceBatch) throw;
    request.batch = batch;
    try {
      pass = client.trace(request);
    } catch (const Error&) {
      throw Error(first);
    }
  }
  return import_torchscript(pass, std::filesystem::path(path).stem().string(), path, options);
}

}  // namespace ampere
