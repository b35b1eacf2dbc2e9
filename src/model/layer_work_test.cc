#include "model/layer_work.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "base/error.h"
#include "layers/kind_json.h"
#include "layers/parse.h"
#include "network/network_json.h"
#include "network/zoo.h"

namespace ampere {
namespace {

// The calls that PyTorch was seen to make (tools/capture_layers).
const Json& captured() {
  static const Json all = read_json_file(std::string(AMPERE_TESTDATA) + "/captured_layers.json");
  return all;
}

std::string text_of(const CountedWork& w) {
  std::ostringstream out;
  const OpWork& o = w.work;
  out << w.count << " x " << static_cast<int>(o.family) << " " << o.name << (o.backward ? " backward" : "")
      << " arithmetic " << static_cast<int>(o.arithmetic) << " flops " << o.flops << " bytes " << o.bytes
      << " launches " << o.launches << " " << o.rows << "x" << o.columns << "x" << o.depth << "x" << o.groups
      << " area " << o.kernel_area << (o.strided ? " strided" : "") << " layout " << o.layout << " of "
      << o.element_bytes;
  return out.str();
}

// A leaf that shares its gradient with another copies it; within a network nobody is a leaf.
Json without_copies_of_leaves(Json calls) {
  Json kept = Json::array();
  for (Json& call : calls["backward"]) {
    if (call["op"] != "aten::copy_") kept.push_back(std::move(call));
  }
  calls["backward"] = std::move(kept);
  return calls;
}

TEST(LayerWork, IsThatOfTheCallsThatPyTorchMakes) {
  int compared = 0;
  for (const Json& one : captured()["cases"]) {
    const std::string name = one["name"].get<std::string>() + ", " + one["role"].get<std::string>() + ", " +
                             one["device"].get<std::string>() + ", " + one["precision"].get<std::string>() +
                             ", " + one["optimizer"].get<std::string>();
    const bool cuda = one["device"] == "cuda";
    const std::string recipe =
        one["optimizer"].get<std::string>() + "-" + one["precision"].get<std::string>() + "-t1";
    const Network network = network_from_json(one["network"], "layer");
    const std::vector<Layer> layers = parse_layers(network, one["batch"].get<std::int64_t>());
    ASSERT_EQ(layers.size(), 1u) << name;
    const std::vector<CountedWork> told =
        work_of_layer(layers[0].kind, layers[0].channels, role_from_word(one["role"]), recipe,
                      call_style_of({{"type", cuda ? "cuda" : "cpu"}, {"framework", "pytorch 2.11.0"}}));
    const std::vector<CountedWork> seen =
        work_of_body(without_copies_of_leaves(one["calls"]), tensor_float_of(recipe));
    std::map<std::string, int> lines;
    for (const CountedWork& w : told) ++lines[text_of(w)];
    for (const CountedWork& w : seen) --lines[text_of(w)];
    std::string wrong;
    for (const auto& [line, count] : lines) {
      if (count != 0) wrong += (count > 0 ? "\n  told: " : "\n  seen: ") + line;
    }
    EXPECT_EQ(wrong, "") << name;
    ++compared;
  }
  EXPECT_GT(compared, 150);
}

Layer only_layer(const Network& network, std::int64_t batch) { return parse_layers(network, batch).at(0); }

double flops_of(const std::vector<CountedWork>& works, OpFamily family) {
  double sum = 0;
  for (const CountedWork& w : works) {
    if (w.work.family == family) sum += w.count * w.work.flops;
  }
  return sum;
}

TEST(LayerWork, AttentionThatIsSpelledOutMultipliesAsMuch) {
  Network network;
  const int in = network.add(Op::kInput, {}, {{"shape", std::vector<std::int64_t>{32, 48}}});
  network.add(Op::kAttention, {in}, {{"heads", std::int64_t{4}}});
  const Layer layer = only_layer(network, 8);
  CallStyle style;
  const auto fused = work_of_layer(layer.kind, layer.channels, LayerRole::kHidden, "sgd-fp32-t1", style);
  style.fused_attention = false;
  const auto plain = work_of_layer(layer.kind, layer.channels, LayerRole::kHidden, "sgd-fp32-t1", style);
  EXPECT_EQ(flops_of(plain, OpFamily::kAttention), 0);
  EXPECT_GT(flops_of(plain, OpFamily::kNorm), 0);  // softmax
  EXPECT_EQ(flops_of(plain, OpFamily::kProduct) - flops_of(fused, OpFamily::kProduct),
            3 * flops_of(fused, OpFamily::kAttention));
}

TEST(LayerWork, EveryOpOfTheZooIsDescribed) {
  for (const ZooEntry& entry : zoo()) {
    for (const Layer& layer : parse_layers(build(parse_zoo(entry.name)), 4)) {
      const auto works = work_of_layer(layer.kind, layer.channels, layer.role, "adam-bf16-t1", {true});
      EXPECT_FALSE(works.empty()) << layer.key();
      for (const CountedWork& w : works) EXPECT_NE(w.work.family, OpFamily::kOther) << layer.key();
    }
  }
}

TEST(LayerWork, RefusesWhatNoDeviceHolds) {
  constexpr std::int64_t kMost = kMaxWidth;
  Network network;
  const int in = network.add(Op::kInput, {}, {{"shape", std::vector<std::int64_t>{kMost, 1, 1}}});
  network.add(Op::kConv2d, {in},
              {{"out_channels", std::int64_t{1024}},
               {"kernel", std::vector<std::int64_t>{kMost - 1}},
               {"padding", std::vector<std::int64_t>{kMost / 2 - 1}}});
  const Layer layer = only_layer(network, 1);
  EXPECT_THROW(work_of_layer(layer.kind, layer.channels, LayerRole::kOnly, "sgd-fp32-t1", {}), Error);
}

TEST(LayerWork, KnowsHowFrameworksMakeTheirCalls) {
  const CallStyle worker = call_style_of({{"type", "cuda"}, {"framework", "libtorch 2.4.0"}});
  EXPECT_TRUE(worker.accelerator && worker.fused_attention);
  EXPECT_FALSE(worker.updates_together);
  EXPECT_TRUE(call_style_of({{"type", "cuda"}, {"framework", "pytorch 2.11.0"}}).updates_together);
  EXPECT_FALSE(call_style_of({{"type", "cpu"}, {"framework", "libtorch 1.13.1"}}).fused_attention);
  EXPECT_FALSE(call_style_of(Json("anything")).accelerator);
}

TEST(LayerWork, RecipesShareCallsUnlessTheyDifferInMoreThanTheOptimizer) {
  EXPECT_TRUE(shares_calls("adam-bf16-autotune-t4", "sgd-bf16-autotune-t4", true));
  EXPECT_TRUE(shares_calls("captured-default-t1", "sgd-default-t1", true));
  EXPECT_FALSE(shares_calls("sgd-fp32-t1", "sgd-default-t1", true));
  EXPECT_FALSE(shares_calls("sgd-default-t2", "sgd-default-t1", true));
  EXPECT_FALSE(shares_calls("sgd-default-t1", "sgd-bf16-t1", true));
  // Captured calls in half precision are kept under the precision of what they do not lower.
  EXPECT_TRUE(shares_calls("captured-default-t1", "sgd-bf16-t1", true));
  EXPECT_FALSE(shares_calls("captured-fp32-t1", "sgd-bf16-t1", true));
  EXPECT_TRUE(shares_calls("captured-fp32-t1", "sgd-bf16-t1", false));
  EXPECT_FALSE(shares_calls("odd", "sgd-default-t1", true));
}

}  // namespace
}  // namespace ampere
