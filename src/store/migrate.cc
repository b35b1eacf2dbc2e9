#include "store/migrate.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/error.h"
#include "layers/kind_json.h"
#include "layers/parse.h"

namespace ampere {
namespace {

bool starts_with(const std::string& text, const std::string& prefix) { return text.rfind(prefix, 0) == 0; }

// Takes what comes before the first slash off the text; all of it where there is none.
std::string take_word(std::string& text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  std::string word = text.substr(0, slash);
  text.erase(0, std::min(slash + 1, text.size()));
  return word;
}

// "truth-replay12/cnn5:c1=3#21f366f9@b10"
bool read_whole(const std::string& name, StoredSurface& s) {
  const auto slash = name.find('/');
  if (slash == std::string::npos) return false;
  std::string word = name.substr(0, slash);
  std::size_t digits = word.size();
  while (digits > 0 && std::isdigit(static_cast<unsigned char>(word[digits - 1]))) --digits;
  const std::string number = word.substr(digits);
  word.resize(digits);
  if (word == "whole" || word == "whole-replay") {
    s.purpose = Purpose::kWhole;
  } else if (word == "truth" || word == "truth-replay") {
    s.purpose = Purpose::kTruth;
    s.pass = number.empty() || number.size() > 6 ? 1 : std::stoi(number);
  } else {
    return false;
  }
  const std::string network = name.substr(slash + 1);
  const auto batch = network.rfind('@');
  s.family = network.substr(0, network.find_first_of(":#@")) +
             (batch == std::string::npos ? "" : network.substr(batch));
  return true;
}

// The kind among the trained layers that this word stands for. Alone, a layer does not show which of its
// numbers may vary, so all ways are tried.
std::optional<LayerKind> kind_called(const std::string& word, LayerRole role,
                                     const std::vector<Layer>& layers, Channels widest) {
  // What the data and the task give stays as it is: try that first.
  std::vector<Surface> surfaces = {Surface::kInOut, Surface::kTied, Surface::kIn, Surface::kOut,
                                   Surface::kPoint};
  if (role == LayerRole::kInput) surfaces.insert(surfaces.begin(), Surface::kOut);
  if (role == LayerRole::kOutput) surfaces.insert(surfaces.begin(), Surface::kIn);
  for (const Layer& layer : layers) {
    LayerKind kind = layer.kind;
    if (kind.ops.empty() || kind.inputs.empty()) continue;  // of a network that does nothing
    for (const Surface surface : surfaces) {
      for (const Channels fixed : {widest, layer.channels}) {
        kind.surface = surface;
        kind.fixed = fixed;
        if (kind.word() != word) continue;
        if (surface == Surface::kIn) kind.fixed.in = 0;
        if (surface == Surface::kOut) kind.fixed.out = 0;
        if (surface == Surface::kInOut || surface == Surface::kTied) kind.fixed = {};
        return kind;
      }
    }
  }
  return std::nullopt;
}

// The published method's output layers start with a flatten, which parse_layers takes for a part of what
// comes before: there the whole network is one layer. `open` is the dimension whose size is the channels.
Layer as_one_layer(const Network& network, std::int64_t batch, Channels channels, std::size_t open) {
  Layer layer;
  layer.channels = channels;
  layer.kind.batch = batch;
  const std::vector<Tensor> shapes = infer_shapes(network, batch);
  for (std::size_t i = 0; i < network.nodes().size(); ++i) {
    const Node& node = network.nodes()[i];
    if (node.op == Op::kInput) {
      InputShape input{{shapes[i].dims.begin() + 1, shapes[i].dims.end()}, shapes[i].dtype, 0};
      if (open < input.dims.size()) input.dims[open] = 0;
      layer.kind.inputs.push_back(std::move(input));
      continue;
    }
    if (width_attribute(node.op)) layer.kind.head = layer.kind.ops.size();
    layer.kind.ops.push_back(node);
  }
  return layer;
}

std::vector<Layer> layers_trained(const SurfaceOfVersion1& old) {
  try {
    const MeasureRequest request = measure_request_from_json(parse_json(old.variant, old.name));
    std::vector<Layer> layers = parse_layers(request.network, request.batch);
    for (const std::size_t open : {0, 1})
      layers.push_back(as_one_layer(request.network, request.batch, old.widest, open));
    return layers;
  } catch (const Error&) {
    return {};  // written by hand, or by another program
  }
}

using KindsByWord = std::map<std::string, LayerKind>;

// "hidden/conv3x3p1@28x28b10<conv3x3p1-relu@28x28b10>linear10@28x28b10". Returns what stands behind the role.
std::string read_layer(std::string rest, const SurfaceOfVersion1& old, StoredSurface& s) {
  s.method = take_word(rest);
  for (const Phase phase : {Phase::kForward, Phase::kBackward, Phase::kUpdate}) {
    if (!starts_with(rest, std::string(to_word(phase)) + "/")) continue;
    s.phase = phase;
    take_word(rest);
  }
  try {
    s.role = role_from_word(take_word(rest));
  } catch (const Error&) {
    return "";
  }
  s.kind = kind_called(rest.substr(0, rest.find_first_of("<>")), s.role, layers_trained(old), old.widest);
  return rest;
}

// Neighbours have surfaces of their own, which tell their kinds.
void read_neighbours(const std::string& rest, const KindsByWord& kinds, StoredSurface& s) {
  const auto known = [&](const std::string& word) -> std::optional<LayerKind> {
    const auto found = kinds.find(word);
    return found == kinds.end() ? std::nullopt : std::optional(found->second);
  };
  const std::size_t before = rest.find('<'), after = rest.find('>');
  if (before != std::string::npos)
    s.neighbours.before = known(rest.substr(before + 1, std::min(after, rest.size()) - before - 1));
  if (after != std::string::npos) s.neighbours.after = known(rest.substr(after + 1));
  const bool told = (before == std::string::npos || s.neighbours.before) &&
                    (after == std::string::npos || s.neighbours.after);
  if (!told) s.kind.reset();  // of no use without them
}

// Which surfaces are taken off (equations 1 and 2): an input layer with the output layer behind it, and an
// output layer.
void name_subtracted(const std::vector<SurfaceOfVersion1>& all, StoredSurface& s) {
  if (s.neighbours.before) {
    const std::string input = s.method + "/input/" + s.neighbours.before->word() + ">";
    for (const SurfaceOfVersion1& other : all) {
      if (!starts_with(other.name, input)) continue;
      s.neighbours.subtracted.push_back(other.name);
      break;
    }
  }
  if (s.neighbours.after)
    s.neighbours.subtracted.push_back(s.method + "/output/" + s.neighbours.after->word());
}

}  // namespace

std::vector<StoredSurface> typed(const std::vector<SurfaceOfVersion1>& old) {
  std::vector<StoredSurface> out;
  std::vector<std::string> rests;
  KindsByWord kinds;
  for (const SurfaceOfVersion1& o : old) {
    StoredSurface s;
    std::string rest = o.name, behind_role;
    if (starts_with(rest, "probe/") || starts_with(rest, "exact/"))
      s.purpose = take_word(rest) == "exact" ? Purpose::kProbe : Purpose::kTimedProbe;
    if (o.name == empty_surface().name) {
      s = empty_surface();
    } else if (!read_whole(o.name, s)) {
      behind_role = read_layer(rest, o, s);
      if (s.kind) kinds.emplace(s.kind->word(), *s.kind);
    }
    s.name = o.name;
    out.push_back(std::move(s));
    rests.push_back(behind_role);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    read_neighbours(rests[i], kinds, out[i]);
    name_subtracted(old, out[i]);
  }
  return out;
}

}  // namespace ampere
