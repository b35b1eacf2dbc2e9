#include "network/zoo.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "network/zoo_mobilenet.h"
#include "network/zoo_resnet.h"

namespace ampere {
namespace {

// Of a transformer: more would be larger than any file that is read.
constexpr std::int64_t kMostLayers = 1000;

using Ints = std::vector<std::int64_t>;

// Appends ops one after the other; most of the zoo is chains.
class Chain {
 public:
  Chain(std::string name, Ints shape) : network_(std::move(name)) {
    last_ = network_.add(Op::kInput, {}, {{"shape", std::move(shape)}}, "input");
  }
  Chain(std::string name, std::int64_t length, std::int64_t vocabulary) : network_(std::move(name)) {
    last_ = network_.add(Op::kInput, {},
                         {{"shape", Ints{length}}, {"dtype", std::string("int")}, {"classes", vocabulary}},
                         "input");
  }
  Chain& then(Op op, Attrs attrs = {}, std::string name = "") {
    last_ = network_.add(op, {last_}, std::move(attrs), std::move(name));
    return *this;
  }
  Chain& conv(Op op, const std::string& name, std::int64_t out, std::int64_t kernel, std::int64_t padding,
              std::int64_t pool) {
    then(op, {{"out_channels", out}, {"kernel", kernel}, {"padding", padding}}, name).then(Op::kRelu);
    return pool > 1 ? then(Op::kMaxPool, {{"kernel", pool}}) : *this;
  }
  Chain& linear(const std::string& name, std::int64_t out) {
    return then(Op::kLinear, {{"out_features", out}}, name);
  }
  Network take() { return std::move(network_); }

 private:
  Network network_;
  int last_ = 0;
};

Network lenet5(const ZooValues& v) {
  Chain chain("lenet5", {v.at("in"), v.at("size"), v.at("size")});
  chain.conv(Op::kConv2d, "conv1", v.at("c1"), 5, 2, 2).conv(Op::kConv2d, "conv2", v.at("c2"), 5, 0, 2);
  chain.then(Op::kFlatten)
      .linear("fc1", v.at("f1"))
      .then(Op::kRelu)
      .linear("fc2", v.at("f2"))
      .then(Op::kRelu);
  return chain.linear("fc3", v.at("classes")).take();
}

Network cnn5(const ZooValues& v) {
  Chain chain("cnn5", {v.at("in"), v.at("size"), v.at("size")});
  for (const char* c : {"c1", "c2", "c3", "c4"}) {
    chain.conv(Op::kConv2d, std::string("conv") + c[1], v.at(c), 3, 1, 2);
  }
  return chain.then(Op::kFlatten).linear("fc", v.at("classes")).take();
}

Network har(const ZooValues& v) {
  Chain chain("har", {v.at("in"), v.at("length")});
  for (const char* c : {"c1", "c2", "c3"}) {
    chain.conv(Op::kConv1d, std::string("conv") + c[1], v.at(c), 5, 2, 2);
  }
  chain.then(Op::kFlatten).linear("fc1", v.at("f1")).then(Op::kRelu);
  return chain.linear("fc2", v.at("classes")).take();
}

// The last step of the sequence carries the summary that the classifier reads.
Network lstm(const ZooValues& v) {
  Chain chain("lstm", v.at("length"), v.at("vocabulary"));
  chain.then(Op::kEmbedding, {{"vocabulary", v.at("vocabulary")}, {"dim", v.at("embedding")}}, "embedding");
  chain.then(Op::kLstm, {{"hidden_size", v.at("hidden")}}, "lstm");
  chain.then(Op::kSlice, {{"axis", std::int64_t{1}}, {"start", std::int64_t{-1}}}).then(Op::kFlatten);
  return chain.linear("fc", v.at("classes")).take();
}

Network transformer(const ZooValues& v) {
  Chain chain("transformer", v.at("length"), v.at("vocabulary"));
  chain.then(Op::kEmbedding, {{"vocabulary", v.at("vocabulary")}, {"dim", v.at("hidden")}}, "embedding");
  for (std::int64_t i = 0; i < v.at("layers"); ++i) {
    chain.then(Op::kEncoderLayer, {{"heads", v.at("heads")}, {"feedforward", v.at("ratio") * v.at("hidden")}},
               "encoder" + std::to_string(i + 1));
  }
  return chain.then(Op::kMean, {{"axes", std::int64_t{1}}}).linear("fc", v.at("classes")).take();
}

ZooParameter fixed(const char* name, std::int64_t value) { return {name, value, 1, 1, false}; }

std::vector<ZooEntry> make_zoo() {
  std::vector<ZooEntry> entries = {
      {"lenet5",
       "lenet5",
       "LeNet-5 with ReLU and max pooling, 28x28 grey images",
       {{"c1", 6},
        {"c2", 16},
        {"f1", 120},
        {"f2", 84},
        fixed("in", 1),
        fixed("size", 28),
        fixed("classes", 10)},
       lenet5},
      {"cnn5",
       "cnn5",
       "5-layer CNN: four 3x3 convolutions with pooling, one linear layer",
       {{"c1", 32},
        {"c2", 64},
        {"c3", 128},
        {"c4", 128},
        fixed("in", 1),
        fixed("size", 28),
        fixed("classes", 10)},
       cnn5},
      {"har",
       "har",
       "1-D CNN over 9x128 windows of motion sensors (human activity recognition)",
       {{"c1", 64},
        {"c2", 128},
        {"c3", 128},
        {"f1", 128},
        fixed("in", 9),
        fixed("length", 128),
        fixed("classes", 6)},
       har},
      {"lstm",
       "lstm",
       "embedding, LSTM and classifier over token sequences",
       {{"embedding", 128},
        {"hidden", 128},
        fixed("length", 32),
        fixed("vocabulary", 5000),
        fixed("classes", 2)},
       lstm},
      {"transformer",
       "transformer",
       "embedding, encoder layers and classifier over token sequences",
       {{"layers", 4},
        {"hidden", 128, 4, 4},
        fixed("heads", 4),
        fixed("ratio", 4),
        fixed("length", 64),
        fixed("vocabulary", 5000),
        fixed("classes", 2)},
       transformer},
  };
  for (ZooEntry& entry : resnet_entries()) entries.push_back(std::move(entry));
  entries.push_back(mobilenet_entry());
  return entries;
}

std::string names() {
  std::string list;
  for (const ZooEntry& e : zoo()) list += (list.empty() ? "" : ", ") + e.name;
  return list;
}

}  // namespace

const std::vector<ZooEntry>& zoo() {
  static const std::vector<ZooEntry> entries = make_zoo();
  return entries;
}

const ZooEntry* find_zoo(const std::string& name) {
  const auto& entries = zoo();
  auto it = std::find_if(entries.begin(), entries.end(), [&](const ZooEntry& e) { return e.name == name; });
  return it == entries.end() ? nullptr : &*it;
}

ZooChoice parse_zoo(const std::string& text) {
  const std::size_t colon = text.find(':');
  const ZooEntry* entry = find_zoo(text.substr(0, colon));
  if (!entry)
    throw bad_input("no network is called \"" + text.substr(0, colon) + "\" (known: " + names() + ")");
  ZooChoice choice{entry, {}};
  for (const ZooParameter& p : entry->parameters) choice.values[p.name] = p.value;
  std::size_t at = colon == std::string::npos ? text.size() : colon + 1;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string pair = text.substr(at, end - at);
    const std::size_t equals = pair.find('=');
    const std::string key = pair.substr(0, equals);
    auto p = std::find_if(entry->parameters.begin(), entry->parameters.end(),
                          [&](const ZooParameter& z) { return z.name == key; });
    if (p == entry->parameters.end()) {
      std::string known;
      for (const ZooParameter& z : entry->parameters) known += (known.empty() ? "" : ", ") + z.name;
      throw bad_input(entry->name + ": no parameter \"" + key + "\" (known: " + known + ")");
    }
    const std::string number = equals == std::string::npos ? "" : pair.substr(equals + 1);
    std::int64_t value = 0;
    auto [rest, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    const bool whole = error == std::errc() && rest == number.data() + number.size();
    const std::int64_t most = key == "layers" ? kMostLayers : kMaxWidth;
    if (!whole || value < p->min || value > most || value % p->step != 0) {
      throw bad_input(entry->name + ": \"" + key + "\" must be a whole number of at least " +
                      std::to_string(p->min) + " and at most " + std::to_string(most) +
                      (p->step > 1 ? " and a multiple of " + std::to_string(p->step) : "") + ", found \"" +
                      number + "\"; write it as " + entry->name + ":" + key + "=" + std::to_string(p->value));
    }
    choice.values[key] = value;
    at = end + 1;
  }
  return choice;
}

Network build(const ZooChoice& choice) {
  Network network = choice.entry->build(choice.values);
  network.set_name(to_text(choice));
  return network;
}

std::string to_text(const ZooChoice& choice) {
  std::string text;
  for (const ZooParameter& p : choice.entry->parameters) {
    const std::int64_t value = choice.values.at(p.name);
    if (value != p.value) text += (text.empty() ? ":" : ",") + p.name + "=" + std::to_string(value);
  }
  return choice.entry->name + text;
}

}  // namespace ampere
