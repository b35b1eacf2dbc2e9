#include "worker/session.h"

#include <gtest/gtest.h>

#include "measure/measurement.h"
#include "worker/image_data_for_test.h"
#include "worker/networks_for_test.h"

namespace ampere::worker {
namespace {

class SessionTest : public testing::Test {
 protected:
  Json ask(const std::string& line) { return parse_json(session_.answer(line), "response"); }

  Json ask_verb(const std::string& verb, const std::string& params) {
    return ask(R"({"id": 5, "verb": ")" + verb + R"(", "params": )" + params + "}");
  }

  // The error's kind, after checking that the session still answers.
  std::string kind_of(const std::string& line, std::int64_t id) {
    const Json response = ask(line);
    EXPECT_FALSE(response.at("ok").get<bool>()) << response;
    EXPECT_EQ(response.at("id"), id) << response;
    EXPECT_FALSE(response.at("error").at("message").get<std::string>().empty());
    EXPECT_EQ(response.at("error").at("message").get<std::string>().find('\n'), std::string::npos);
    const Json hello = ask(R"({"id": 99, "verb": "hello"})");
    EXPECT_TRUE(hello.at("ok").get<bool>());
    EXPECT_FALSE(session_.ended());
    return response.at("error").at("kind");
  }

  Session session_{SessionOptions{"cpu", "cpu-model", 1, {}}};
};

std::string measure_line(const std::string& nodes, const std::string& rest = "") {
  return R"({"id": 5, "verb": "measure", "params": {"batch": 4, "window_s": 0.01, "warm_up_s": 0.01,
             "budget_s": 0.2, "network": {"nodes": [)" +
         nodes + "]}" + rest + "}}";
}

TEST_F(SessionTest, HelloSaysProtocolAndFramework) {
  const Json result = ask(R"({"id": 1, "verb": "hello"})").at("result");
  EXPECT_EQ(result.at("protocol"), kProtocolVersion);
  EXPECT_EQ(result.at("worker"), "ampere-worker");
  EXPECT_EQ(result.at("framework").get<std::string>().find("libtorch "), 0u);
}

TEST_F(SessionTest, DetectDescribesDeviceAndMeters) {
  const Json result = ask_verb("detect", "{}").at("result");
  EXPECT_EQ(result.at("device").at("type"), "cpu");
  EXPECT_GT(result.at("device").at("memory_bytes").get<double>(), 1e6);
  EXPECT_GE(result.at("device").at("threads").get<int>(), 1);
  EXPECT_FALSE(result.at("device").at("blas").get<std::string>().empty());
  EXPECT_EQ(result.at("default_meter"), "cpu-model");
  bool model = false;
  for (const Json& meter : result.at("meters"))
    model = model || (meter.at("name") == "cpu-model" && meter.at("available"));
  EXPECT_TRUE(model);
}

std::string calls_node(Json body) {
  return Json{{"op", "calls"},
              {"inputs", {"input0"}},
              {"calls", body.is_string() ? body.get<std::string>() : body.dump()}}
      .dump();
}

TEST_F(SessionTest, MeasuresCapturedCalls) {
  const Json floats = {{"sizes", {8, 8}}, {"strides", {8, 1}}, {"dtype", "float32"}};
  Json input = floats, weight = floats, gradient = floats, kept = floats;
  input["from"] = "activation";
  weight["from"] = "parameter";
  gradient["from"] = "gradient";
  kept["until"] = "backward";
  const auto t = [](int number) { return Json{{"t", number}}; };
  const Json body = {
      {"footprint", 1 << 20},
      {"tensors", {input, weight, kept, gradient, floats}},
      {"forward", {{{"op", "aten::mm"}, {"overload", "default"}, {"args", {t(0), t(1)}}, {"out", {2}}}}},
      {"backward", {{{"op", "aten::mm"}, {"overload", "default"}, {"args", {t(3), t(2)}}, {"out", {4}}}}},
      {"update", {{{"op", "aten::add_"}, {"overload", "Tensor"}, {"args", {t(1), 1}}, {"out", {1}}}}}};
  // A network of ops has no optimizer among its calls.
  EXPECT_EQ(kind_of(measure_line(lenet_nodes(), R"(, "recipe": {"optimizer": "captured"})"), 5), "bad_input");
  const std::string source = R"({"op": "input", "shape": [1]}, )";
  const Json response = ask(measure_line(source + calls_node(body)));
  ASSERT_TRUE(response.at("ok").get<bool>()) << response;
  EXPECT_GT(measurement_from_json(response.at("result")).energy_j.value_or(0), 0);
  Json compiled = body;
  compiled["compiled"] = true;
  const Json refused = ask(measure_line(source + calls_node(compiled)));
  EXPECT_NE(refused.dump().find("torch.compile"), std::string::npos) << refused;
  for (
      const char* hostile :
      {"", "{}", "[1]",
       R"({"tensors": [], "footprint": 1, "forward": [{"op": "os::system", "args": [], "out": []}]})",
       R"({"tensors": [], "footprint": 1, "forward": [{"op": "aten::from_file", "args": ["/etc/passwd"], "out": []}]})",
       R"({"tensors": [], "footprint": 1, "forward": [{"op": "aten::mm", "args": [{"t": 5}, {"t": 6}], "out": [7]}]})",
       R"({"tensors": [{"sizes": [-4], "strides": [1], "dtype": "float32", "from": "input"}], "footprint": 1})",
       R"({"tensors": [{"sizes": [4], "strides": [1], "dtype": "float32", "from": "input"}], "footprint": 1,
           "forward": [{"op": "aten::relu", "args": [{"t": 0}], "kwargs": {"x": {"t": -1}}, "out": [null]}]})",
       R"({"tensors": [{"sizes": [4], "strides": [1], "dtype": "float32", "from": "input"}], "footprint": 1,
           "forward": [{"op": "aten::relu", "args": [{"t": 0}], "kwargs": {"x": 1}, "out": [null]}]})",
       R"({"tensors": [{"sizes": [4, 4, 4], "strides": [16, 4, 1], "dtype": "float32", "from": "input"}], "footprint": 1,
           "forward": [{"op": "aten::gru", "args": [{"t": 0}], "kwargs": {"states": 0}, "out": [null]}]})",
       R"({"tensors": [], "footprint": 1,
           "forward": [{"op": "aten::gru", "args": [true], "kwargs": {"states": -1}, "out": [null]}]})",
       R"({"tensors": [{"sizes": [4], "strides": [1], "dtype": "float3", "from": "input"}], "footprint": 1})"}) {
    EXPECT_EQ(kind_of(measure_line(source + calls_node(Json(hostile))), 5), "bad_input") << hostile;
  }
}

TEST_F(SessionTest, MeasuresInEveryForm) {
  for (const char* rest : {"", R"(, "loss": false, "input_grad": true)", R"(, "mode": "replay")",
                           R"(, "recipe": {"optimizer": "adam", "deterministic": true})"}) {
    const Json response = ask(measure_line(lenet_nodes(), rest));
    ASSERT_TRUE(response.at("ok").get<bool>()) << response;
    const Measurement m = measurement_from_json(response.at("result"));  // refuses impossible figures
    EXPECT_GT(m.energy_j.value_or(0), 0);
    EXPECT_TRUE(m.modelled);
    EXPECT_EQ(m.meter, "cpu-model");
    EXPECT_EQ(m.mode, "eager");
    EXPECT_FALSE(m.host_s.has_value());
    EXPECT_EQ(m.note.empty(), std::string(rest).find("replay") == std::string::npos);
    EXPECT_GE(m.windows, 3);
  }
  const Json empty = ask(measure_line(R"({"op": "input", "shape": [1]})"));
  EXPECT_TRUE(empty.at("ok").get<bool>()) << empty;
}

TEST_F(SessionTest, TrainsAndIdles) {
  const Json trained = ask_verb("train", R"({"batch": 8, "iterations": 40, "network": {"nodes": [)" +
                                             std::string(lenet_nodes()) + "]}}")
                           .at("result");
  EXPECT_LT(trained.at("loss_last").get<double>(), trained.at("loss_first").get<double>());
  EXPECT_EQ(trained.at("iterations"), 40);
  const Json idle = ask_verb("idle", R"({"seconds": 0.05})").at("result");
  EXPECT_TRUE(idle.at("modelled").get<bool>());
  EXPECT_GE(idle.at("seconds").get<double>(), 0.05);
}

TEST_F(SessionTest, SurvivesWhatIsNoRequest) {
  EXPECT_EQ(kind_of("", -1), "bad_input");
  EXPECT_EQ(kind_of("hello", -1), "bad_input");
  EXPECT_EQ(kind_of("{\"id\": 3", -1), "bad_input");
  EXPECT_EQ(kind_of("[]", -1), "bad_input");
  EXPECT_EQ(kind_of("\xff\xfe\x00", -1), "bad_input");
  EXPECT_EQ(kind_of(std::string(100000, '['), -1), "bad_input");
  EXPECT_EQ(kind_of(R"({"id": "x", "verb": "hello"})", -1), "bad_input");
  EXPECT_EQ(kind_of(R"({"id": 3})", 3), "bad_input");
  EXPECT_EQ(kind_of(R"({"id": 3, "verb": 7})", 3), "bad_input");
  EXPECT_EQ(kind_of(R"({"id": 3, "verb": "dance"})", 3), "bad_input");
  EXPECT_EQ(kind_of(R"({"id": 3, "verb": "hello", "params": []})", 3), "bad_input");
  EXPECT_EQ(kind_of(R"({"id": 3, "verb": "hello", "extra": 1})", 3), "bad_input");
}

TEST_F(SessionTest, SurvivesWrongParameters) {
  const std::string good = R"({"op": "input", "shape": [4]}, {"op": "linear", "out_features": 2})";
  EXPECT_EQ(kind_of(R"({"id": 5, "verb": "measure"})", 5), "bad_input");
  EXPECT_EQ(kind_of(measure_line(good, R"(, "batch": 4)"), -1), "bad_input") << "given twice";
  EXPECT_EQ(kind_of(measure_line(good, R"(, "target_error": NaN)"), -1), "bad_input");
  EXPECT_EQ(kind_of(measure_line(good, R"(, "recipe": {"optimizer": "lion"})"), 5), "bad_input");
  EXPECT_EQ(kind_of(measure_line(good, R"(, "recipe": {"precision": "tf32"})"), 5), "bad_input");
  EXPECT_EQ(kind_of(measure_line(good, R"(, "recipe": 3)"), 5), "bad_input");
  EXPECT_EQ(kind_of(measure_line(good, R"(, "surprise": 1)"), 5), "bad_input");
  EXPECT_EQ(kind_of(measure_line(good, R"(, "meter": "crystal ball")"), 5), "bad_input");
  EXPECT_EQ(kind_of(R"({"id": 5, "verb": "idle", "params": {"seconds": -1}})", 5), "bad_input");
  EXPECT_EQ(
      kind_of(R"({"id": 5, "verb": "train", "params": {"batch": 1, "iterations": 0, "network": {"nodes": [)" +
                  good + "]}}}",
              5),
      "bad_input");
}

TEST_F(SessionTest, SurvivesNetworksThatCannotBeTrained) {
  EXPECT_EQ(kind_of(measure_line(
                        R"({"op": "input", "shape": [4]}, {"op": "conv2d", "out_channels": 2, "kernel": 3})"),
                    5),
            "bad_input");
  EXPECT_EQ(
      kind_of(
          measure_line(R"({"op": "input", "shape": [16000000]}, {"op": "linear", "out_features": 16000000})"),
          5),
      "out_of_memory");
  // Only LibTorch itself notices that there is nothing to normalise over.
  EXPECT_EQ(kind_of(R"({"id": 5, "verb": "measure", "params": {"batch": 1, "network": {"nodes":
                        [{"op": "input", "shape": [4]}, {"op": "batch_norm"}]}}})",
                    5),
            "failed");
}

TEST_F(SessionTest, ShutdownEndsIt) {
  EXPECT_TRUE(ask(R"({"id": 1, "verb": "shutdown"})").at("ok").get<bool>());
  EXPECT_TRUE(session_.ended());
  EXPECT_TRUE(session_.healthy());
}

TEST(Serve, AnswersLineByLineAndRefusesHugeOnes) {
  std::FILE* in = std::tmpfile();
  std::FILE* out = std::tmpfile();
  const std::string huge(kMaxLine + 10, 'x');
  const std::string input = "\n" + huge + "\n{\"id\": 2, \"verb\": \"hello\"}";  // the last line has no end
  ASSERT_EQ(std::fwrite(input.data(), 1, input.size(), in), input.size());
  std::rewind(in);
  Session session(SessionOptions{"cpu", "", 1, {}});
  EXPECT_EQ(serve(session, in, out), 0);
  std::rewind(out);
  char buffer[4096] = {};
  const std::size_t got = std::fread(buffer, 1, sizeof(buffer) - 1, out);
  const std::string text(buffer, got);
  EXPECT_NE(text.find("longer than 64 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("\"protocol\":1"), std::string::npos) << text;
  std::fclose(in);
  std::fclose(out);
}

TEST_F(SessionTest, RunsTakeTurnsOnRealData) {
  const std::string folder = testing::TempDir() + "ampere_session_data";
  write_stripes(folder, 64, 32);
  const std::string network = R"({"nodes": [{"op": "input", "shape": [1, 8, 8]}, {"op": "flatten"},
    {"op": "linear", "out_features": 8}, {"op": "relu"}, {"op": "linear", "out_features": 2}]})";
  for (const char* name : {"a", "b"}) {
    const Json begun =
        ask_verb("train", R"({"run": ")" + std::string(name) + R"(", "network": )" + network +
                              R"(, "batch": 12, "data": ")" + folder + R"(", "evaluate": true})")
            .at("result");
    EXPECT_EQ(begun.at("iterations_in_all"), 0);
    EXPECT_TRUE(begun.at("energy_j").is_null());
    EXPECT_GT(begun.at("test_loss").get<double>(), 0);
  }
  Json last;
  for (int turn = 0; turn < 6; ++turn) {
    for (const char* name : {"a", "b"}) {
      last = ask_verb("train", R"({"run": ")" + std::string(name) +
                                   R"(", "iterations": 50, "learning_rate": 0.1, "evaluate": true})")
                 .at("result");
    }
  }
  EXPECT_EQ(last.at("iterations_in_all"), 300);
  EXPECT_GT(last.at("energy_j").get<double>(), 0);
  EXPECT_GT(last.at("time_s").get<double>(), 0);
  EXPECT_EQ(last.at("test_accuracy"), 1.0);
  EXPECT_TRUE(ask_verb("train", R"({"run": "a", "end": true})").at("ok").get<bool>());
  for (
      const std::string& wrong :
      {std::string(R"({"run": "a", "iterations": 1})"), std::string(R"({"run": "b", "iterations": -1})"),
       std::string(R"({"run": "b", "end": true, "iterations": 1})"),
       R"({"run": "c", "network": )" + network + R"(, "batch": 4, "data": "/nonexistent"})",
       R"({"run": "c", "network": )" + network + R"(, "batch": 65, "data": ")" + folder + R"("})",
       R"({"run": "c", "batch": 4, "data": ")" + folder +
           R"(", "network": {"nodes": [{"op": "input", "shape": [9]}, {"op": "linear", "out_features": 2}]}})",
       R"({"run": "c", "batch": 4, "data": ")" + folder +
           R"(", "network": {"nodes": [{"op": "input", "shape": [64]}, {"op": "linear", "out_features": 1}]}})"}) {
    EXPECT_EQ(kind_of(R"({"id": 6, "verb": "train", "params": )" + wrong + "}", 6), "bad_input") << wrong;
  }
}

}  // namespace
}  // namespace ampere::worker
