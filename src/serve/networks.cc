#include "serve/networks.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/capped.h"
#include "base/files.h"
#include "base/plain_text.h"
#include "layers/parse.h"
#include "network/network_json.h"
#include "network/shape.h"
#include "serve/api_words.h"
#include "serve/http.h"
#include "serve/limited.h"
#include "serve/sha256.h"

namespace ampere {
namespace {

namespace fs = std::filesystem;

bool is_id(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// The last part of a path, in one line and of a length that can be shown.
std::string tidy_name(const std::string& name) {
  const std::size_t slash = name.find_last_of("/\\");
  std::string tidy = plain_line(as_utf8(slash == std::string::npos ? name : name.substr(slash + 1)));
  if (tidy.size() > 200) tidy = capped(tidy, 200);
  return tidy.empty() ? "network" : tidy;
}

std::string stem_of(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

// By its name, and else by how it begins.
std::string format_of(const std::string& name, const std::string& file) {
  const std::size_t dot = name.rfind('.');
  std::string ending = dot == std::string::npos ? "" : name.substr(dot + 1);
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (ending == "onnx" || ending == "pt" || ending == "json") return ending;
  if (ending == "pth") return "pt";
  std::ifstream in(file, std::ios::binary);
  char first[2] = {};
  in.read(first, 2);
  if (first[0] == 'P' && first[1] == 'K') return "pt";
  if (first[0] == '{') return "json";
  throw bad_input(name + ": a network file must end in .json, .onnx or .pt");
}

std::string digest_of(const std::string& file) {
  Sha256 digest;
  std::ifstream in(file, std::ios::binary);
  std::string buffer(1 << 20, '\0');
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0)
    digest.add(std::string_view(buffer).substr(0, static_cast<std::size_t>(in.gcount())));
  return digest.hex();
}

std::string short_digest(const std::string& text) {
  Sha256 digest;
  digest.add(text);
  return digest.hex().substr(0, 32);
}

Json info_of(const std::string& id, const std::string& name, const std::string& format,
             const Network& network, std::int64_t batch) {
  const std::vector<Tensor> shapes = infer_shapes(network, batch);
  Json inputs = Json::array();
  for (std::size_t n = 0; n < network.nodes().size(); ++n) {
    const Node& node = network.nodes()[n];
    if (node.inputs.empty()) inputs.push_back({{"name", node.name}, {"shape", shapes[n].dims}});
  }
  const Cost cost = network_cost(network, batch);
  return {{"id", id},
          {"name", name},
          {"format", format},
          {"batch", batch},
          {"inputs", inputs},
          {"nodes", network.nodes().size()},
          {"layers", parse_layers(network, batch).size()},
          {"parameters", cost.parameters},
          {"flops", cost.flops()},
          {"forward_flops", cost.forward_flops},
          {"notes", Json::array()}};
}

bool is_large(const Network& network, std::int64_t batch) {
  constexpr std::size_t kMostOps = 1'000, kMostDifferent = 200;
  if (network.nodes().size() > kMostOps) return true;
  std::set<std::pair<std::string, Channels>> different;
  for (const Layer& layer : parse_layers(network, batch)) different.insert({layer.key(), layer.channels});
  return different.size() > kMostDifferent;
}

// All that decides what becomes of a file, in one text.
Json how_json(const std::string& digest, const std::string& name, const std::string& format,
              const ReadingOptions& o) {
  return {{"digest", digest},
          {"name", name},
          {"format", format},
          {"inputs", o.inputs},
          {"dims", o.dims},
          {"batch", o.batch ? Json(*o.batch) : Json()},
          {"restore_batchnorm", o.restore_batchnorm},
          {"ignore_unsupported", o.ignore_unsupported}};
}

std::vector<std::string> reading_arguments(const Json& how) {
  std::vector<std::string> words;
  for (const Json& input : how["inputs"]) words.push_back("--input=" + input.get<std::string>());
  for (const auto& [name, size] : how["dims"].items()) words.push_back("--dim=" + name + "=" + size.dump());
  if (!how["batch"].is_null()) words.push_back("--batch=" + how["batch"].dump());
  if (how["restore_batchnorm"].get<bool>()) words.emplace_back("--restore-batchnorm");
  if (how["ignore_unsupported"].get<bool>()) words.emplace_back("--ignore-unsupported");
  return words;
}

}  // namespace

Networks::Networks(std::string folder, const ServeOptions& options)
    : folder_(std::move(folder)), options_(options) {}

std::string Networks::path(const std::string& id, const std::string& ending) const {
  return folder_ + "/" + id + ending;
}

std::string Networks::scratch_path() {
  const std::lock_guard lock(mutex_);
  return folder_ + "/incoming-" + std::to_string(++scratch_);
}

ServedNetworkPtr Networks::add(const std::string& file, const std::string& name,
                               const ReadingOptions& options) {
  const std::string tidy = tidy_name(name);
  const std::string format = format_of(tidy, file);
  const std::string digest = digest_of(file).substr(0, 32);
  const std::string upload = path(digest, ".upload." + format);
  fs::rename(file, upload);
  make_room();
  return read(upload, how_json(digest, tidy, format, options));
}

ServedNetworkPtr Networks::read(const std::string& upload, const Json& how) {
  const std::string id = short_digest(how.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (auto known = kept(id)) return known;
  const std::string name = how["name"];
  const std::string converted = scratch_path();  // two may read the same file at a time
  std::vector<std::string> words = {"convert", "--json", "--output=" + converted};
  if (!options_.worker.empty()) words.push_back("--worker=" + options_.worker);
  const auto more = reading_arguments(how);
  words.insert(words.end(), more.begin(), more.end());
  words.insert(words.end(), {upload});
  struct Cleared {
    std::string file;
    ~Cleared() {
      std::error_code unknown;
      fs::remove(file, unknown);
    }
  } const cleared{converted};
  const Json told = run_limited(words, options_, {{upload, name}, {converted, name}});
  // It is read here, too, where nothing limits what that takes.
  constexpr std::uintmax_t kMostConverted = 16u << 20;
  if (fs::file_size(converted) > kMostConverted)
    throw HttpError(422, "limit",
                    name + ": a network of so many ops is not read by this server; use ampere itself");
  Network network = network_from_json(read_json_file(converted), name);
  // Imported ones are called as their file is, which has another name here.
  if (how["format"] != "json") network.set_name(stem_of(name));
  const std::int64_t batch =
      captured_batch(network).value_or(told.is_object() ? told.value("batch", std::int64_t{1}) : 1);
  Json info = info_of(id, name, how["format"], network, batch);
  for (const char* field : {"unsupported", "ignored_flops_share"}) {
    if (told.contains(field)) info[field] = told[field];
  }
  for (const Json& note : told.value("notes", Json::array()))
    info["notes"].push_back(in_api_words(note.get<std::string>()).text);
  info["read"] = how;
  return keep(id, network, info);
}

ServedNetworkPtr Networks::add(const Network& network, const std::string& name) {
  const Json json = network_to_json(network);
  const std::string id = short_digest(json.dump(-1, ' ', false, Json::error_handler_t::replace) + name);
  if (auto known = kept(id)) return known;
  return keep(id, network, info_of(id, name, "json", network, captured_batch(network).value_or(1)));
}

ServedNetworkPtr Networks::keep(const std::string& id, const Network& network, const Json& info) {
  write_file(path(id, ".json"), network_to_json(network).dump(1, ' ', false, Json::error_handler_t::replace));
  write_file(path(id, ".info"), info.dump(1, ' ', false, Json::error_handler_t::replace));
  return kept(id);
}

ServedNetworkPtr Networks::kept(const std::string& id) {
  {
    const std::lock_guard lock(mutex_);
    if (const ServedNetworkPtr* known = parsed_.find(id)) return *known;
  }
  if (!fs::exists(path(id, ".info")) || !fs::exists(path(id, ".json"))) return nullptr;
  auto known = std::make_shared<ServedNetwork>();
  known->id = id;
  try {
    known->info = read_json_file(path(id, ".info"));
    known->loaded.network = network_from_json(read_json_file(path(id, ".json")), "network " + id);
    known->batch = known->info.value("batch", std::int64_t{1});
    known->is_large = is_large(known->loaded.network, known->batch);
  } catch (const std::exception&) {  // spoiled, as by a full disk: whoever has the file sends it again
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  parsed_.put(id, known, 1 + known->loaded.network.nodes().size() / 500);
  return known;
}

ServedNetworkPtr Networks::find_id(const std::string& id) {
  ServedNetworkPtr known = is_id(id) ? kept(id) : nullptr;
  if (!known) throw HttpError(404, "not_found", "there is no network " + id + " here; send its file again");
  return known;
}

ServedNetworkPtr Networks::find(const Json& which, const std::map<std::string, std::int64_t>& dims,
                                bool may_wait) {
  if (which.contains("zoo")) {
    std::string text = which["zoo"];
    for (const auto& [name, size] : dims)
      text += (text.find(':') == std::string::npos ? ":" : ",") + name + "=" + std::to_string(size);
    const ZooChoice choice = parse_zoo(text);
    text = to_text(choice);
    {
      const std::lock_guard lock(mutex_);
      if (const ServedNetworkPtr* known = parsed_.find(text)) return *known;
    }
    auto known = std::make_shared<ServedNetwork>();
    known->id = text;
    known->loaded = {build(choice), choice, {}, {}, 0};
    known->info = info_of(text, text, "zoo", known->loaded.network, 1);
    known->is_large = is_large(known->loaded.network, 1);
    const std::lock_guard lock(mutex_);
    parsed_.put(text, known, 1 + known->loaded.network.nodes().size() / 500);
    return known;
  }
  ServedNetworkPtr known = find_id(which["id"]);
  if (dims.empty()) return known;
  if (!known->info.contains("read") || known->info["read"]["format"] != "onnx")
    throw bad_input("dims go with ONNX files and networks of the zoo");
  Json how = known->info["read"];
  for (const auto& [name, size] : dims) how["dims"][name] = size;
  const std::string id = short_digest(how.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (auto again = kept(id)) return again;
  if (!may_wait) throw MustWait{};
  const std::string upload = path(how["digest"], ".upload.onnx");
  if (!fs::exists(upload))
    throw HttpError(404, "not_found",
                    "the file of network " + known->id + " is no longer here; send it again");
  return read(upload, how);
}

std::string Networks::model_argument(const ServedNetwork& network) const {
  return network.loaded.zoo ? network.id : path(network.id, ".json");
}

// The oldest go first.
void Networks::make_room() {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::uint64_t bytes = 0;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator(folder_, gone)) {
    if (entry.path().filename().string().rfind("incoming-", 0) == 0) continue;
    const std::uint64_t size = entry.file_size(gone);
    if (gone) continue;
    bytes += size;
    files.emplace_back(entry.last_write_time(gone), entry.path());
  }
  std::sort(files.begin(), files.end());
  for (std::size_t i = 0; i + 1 < files.size() && bytes > options_.limits.kept_bytes; ++i) {
    bytes -= fs::file_size(files[i].second, gone);
    fs::remove(files[i].second, gone);
  }
}

}  // namespace ampere
