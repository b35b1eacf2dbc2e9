// The library as another program uses it: public headers alone, with a worker that needs no LibTorch.
#include <ampere/ampere.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

namespace {

using namespace ampere;

template <class Do>
ErrorKind kind_of(const Do& act) {
  try {
    act();
  } catch (const Error& e) {
    EXPECT_STRNE(e.what(), "");
    return e.kind();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorKind::kFailed;
}

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// A folder of its own for each test.
class Library : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() /
        (std::string("ampere-library-") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  Device open() const { return Device::open({.store = path("store.db"), .worker = AMPERE_SCRIPTED_WORKER}); }

  std::filesystem::path folder_;
  const TrainingSetup setup_{.batch = 8};
  const ProfilingOptions quick_{.points_1d = 3, .points_2d = 5, .whole_networks = 2, .budget_s = 0.1};
};

TEST_F(Library, TellsItsVersion) { EXPECT_STREQ(version(), kVersion); }

TEST_F(Library, LoadsModels) {
  const Model model = Model::load("lenet5:c1=4");
  EXPECT_EQ(model.name(), "lenet5:c1=4");
  EXPECT_TRUE(model.notes().empty());
  EXPECT_FALSE(model.exported_batch());
  double flops = 0, parameters = 0;
  for (const ModelLayer& l : model.layers(8)) flops += l.flops, parameters += l.parameters;
  EXPECT_DOUBLE_EQ(flops, model.flops(8));
  EXPECT_DOUBLE_EQ(parameters, model.parameters());
  EXPECT_EQ(model.layers(8).front().role, LayerRole::kInput);
  EXPECT_EQ(model.layers(8).front().channels, (Channels{1, 4}));

  model.save(path("net.json"));
  EXPECT_EQ(Model::load(path("net.json")).to_json(), model.to_json());
  EXPECT_EQ(Model::from_json(read(path("net.json"))).to_json(), model.to_json());

  EXPECT_EQ(kind_of([] { Model::load("nothing-of-the-zoo"); }), ErrorKind::kBadInput);
  EXPECT_EQ(kind_of([] { Model::from_json("{}"); }), ErrorKind::kBadInput);
  EXPECT_EQ(kind_of([&] { (void)model.flops(0); }), ErrorKind::kBadInput);
  EXPECT_EQ(kind_of([&] { model.save(path("no/such/folder.json")); }), ErrorKind::kBadInput);
  bool found = false;
  for (const KnownModel& known : known_models()) found = found || known.name == "lenet5";
  EXPECT_TRUE(found);
}

TEST_F(Library, LoadsWhatWasRecorded) {
  const std::string recorded = R"({"name": "Net", "batch": 2, "parameters": 15, "inputs": [2], "outputs": [3],
    "tensors": [{"shape": [3, 4], "dtype": "float", "role": "parameter", "name": "fc.weight"},
                {"shape": [3], "dtype": "float", "role": "parameter", "name": "fc.bias"},
                {"shape": [2, 4], "dtype": "float", "role": "input"}, {"shape": [2, 3], "dtype": "float"}],
    "ops": [{"op": "aten::OP", "module": "fc", "outputs": [3],
             "args": {"input": {"tensor": 2}, "weight": {"tensor": 0}, "bias": {"tensor": 1}}}]})";
  const auto with = [&](const std::string& op) {
    std::string text = recorded;
    return text.replace(text.find("OP"), 2, op);
  };
  const Model model = Model::from_trace(with("linear"));
  EXPECT_EQ(model.name(), "Net");
  EXPECT_EQ(model.parameters(), 15);
  EXPECT_EQ(model.layers(8).at(0).name, "fc");
  EXPECT_EQ(kind_of([&] { Model::from_trace(with("sort")); }), ErrorKind::kBadInput);
  EXPECT_EQ(kind_of([] { Model::from_trace("{}"); }), ErrorKind::kBadInput);
}

TEST_F(Library, ProfilesAndEstimates) {
  Device device = open();
  EXPECT_EQ(device.name(), "imaginary device");
  EXPECT_EQ(device.meter(), "imaginary");
  EXPECT_TRUE(device.can_measure());
  EXPECT_FALSE(device.energy_modelled());
  const Model model = Model::load("lenet5");
  EXPECT_EQ(kind_of([&] { estimate(device, model, setup_); }), ErrorKind::kNotProfiled);

  int steps = 0;
  const ProfilingSummary done = profile(device, model, setup_, quick_, [&](const Step& s) {
    EXPECT_FALSE(s.task.empty());
    ++steps;
  });
  EXPECT_GT(steps, 0);
  ASSERT_EQ(done.methods.size(), 1U);
  EXPECT_GT(done.methods[0].summary.measured, 0);
  for (const SurfaceSummary& s : done.methods[0].summary.surfaces) EXPECT_NE(s.why, StopWhy::kGoOn);
  EXPECT_EQ(profile(device, model, setup_, quick_).methods[0].summary.measured, 0) << "all is known";
  EXPECT_TRUE(device.energy_modelled().value());

  // What was measured is enough without a worker, and tells the same.
  const Estimate here = estimate(device, model, setup_);
  EXPECT_TRUE(here.modelled);
  EXPECT_EQ(here.layers.size(), model.layers(8).size());
  EXPECT_LT(here.energy_j.low, here.energy_j.value);
  EXPECT_FALSE(here.probed);
  ASSERT_EQ(stored_devices(path("store.db")).size(), 1U);
  Device stored = Device::stored(path("store.db"), device.id().substr(0, 6));
  EXPECT_EQ(stored.id(), device.id());
  EXPECT_EQ(stored.fingerprint(), device.fingerprint());
  EXPECT_FALSE(stored.can_measure());
  const Estimate there = estimate(stored, model, setup_);
  EXPECT_EQ(there.energy_j.value, here.energy_j.value);
  EXPECT_EQ(there.energy_j.high, here.energy_j.high);
  const Interval job = there.energy_j * iterations_of(100, 8, 2);
  EXPECT_DOUBLE_EQ(job.high, 26 * there.energy_j.high);

  EXPECT_EQ(kind_of([&] { profile(stored, model, setup_); }), ErrorKind::kBadInput);
  EXPECT_EQ(kind_of([&] { estimate(stored, model, setup_, {.exact = true}); }), ErrorKind::kBadInput);
  EXPECT_EQ(kind_of([&] { estimate(stored, model, {.batch = 0}); }), ErrorKind::kBadInput);
  EXPECT_EQ(kind_of([&] { estimate(stored, model, {8, {.optimizer = "wishing"}}); }), ErrorKind::kBadInput);
  EXPECT_EQ(kind_of([&] { estimate(stored, model, setup_, {.method = "guess"}); }), ErrorKind::kBadInput);
  EXPECT_EQ(estimate(stored, model, {.batch = 9}).unmeasured, 1) << "told by what was measured at batch 8";
  EXPECT_EQ(kind_of([&] { estimate(stored, model, {8, {.precision = "bf16"}}); }), ErrorKind::kNotProfiled);
  EXPECT_EQ(kind_of([&] { profile(device, model, setup_, {.points_1d = 1}); }), ErrorKind::kBadInput);
}

TEST_F(Library, ProfilesADeviceForAnyNetwork) {
  Device device = open();
  int steps = 0;
  const DeviceSummary done = profile_device(device, 0.02, {}, [&](const Step& s) {
    EXPECT_TRUE(s.seconds_left);
    ++steps;
  });
  EXPECT_GT(done.measured, 0);
  EXPECT_GE(steps, done.measured);
  EXPECT_TRUE(done.modelled);
  const Estimate told = estimate(device, Model::load("har"), setup_);
  EXPECT_GT(told.unmeasured, 0);
  ASSERT_TRUE(told.gain);
  EXPECT_GT(told.gain->layers, 0);
  EXPECT_EQ(kind_of([&] { profile_device(device, 0); }), ErrorKind::kBadInput);
  EXPECT_EQ(kind_of([&] { profile_device(device, 1, {.precision = "odd"}); }), ErrorKind::kBadInput);
  Device stored = Device::stored(path("store.db"));
  EXPECT_EQ(kind_of([&] { profile_device(stored, 1); }), ErrorKind::kBadInput);
}

TEST_F(Library, ProfilesToATargetOrExactly) {
  Device device = open();
  const Model model = Model::load("lenet5");
  const ProfilingSummary exact = profile(device, model, setup_, {.exact = true});
  ASSERT_TRUE(exact.exact);
  EXPECT_EQ(exact.exact->measured, exact.exact->layers);
  EXPECT_TRUE(exact.methods.empty());
  EXPECT_GT(estimate(device, model, setup_).energy_j.value, 0);
  EXPECT_EQ(estimate(device, model, setup_, {.exact = true}).probed->known, exact.exact->layers);

  ProfilingOptions to_target = quick_;
  to_target.target = 0.5;
  EXPECT_TRUE(profile(device, model, setup_, to_target).refinement->reached);
  to_target.exact = true;
  EXPECT_EQ(kind_of([&] { profile(device, model, setup_, to_target); }), ErrorKind::kBadInput);
}

TEST_F(Library, SaysWhereNothingIs) {
  EXPECT_EQ(kind_of([&] { Device::stored(path("none.db")); }), ErrorKind::kBadInput);
  EXPECT_EQ(kind_of([&] { stored_devices(path("none.db")); }), ErrorKind::kBadInput);
  EXPECT_FALSE(std::filesystem::exists(path("none.db"))) << "asking makes no store";
  EXPECT_EQ(kind_of([&] { Device::open({.store = path("s.db"), .worker = "exec false"}); }),
            ErrorKind::kWorker);
  open();
  EXPECT_EQ(kind_of([&] { Device::stored(path("store.db")); }), ErrorKind::kNotProfiled);
}

TEST_F(Library, Prunes) {
  Device device = open();
  const Model model = Model::load("cnn5");
  profile(device, model, setup_, quick_);
  const PruneOptions half{.budget = parse_budget("50%"), .search = {.candidates = 5000}};
  const Pruned pruned = prune(device, model, setup_, half);
  EXPECT_LE(pruned.after->energy_j.value, pruned.budget);
  EXPECT_LT(pruned.parameters_after, pruned.parameters_before);
  EXPECT_EQ(pruned.parameters_after, pruned.model.parameters());
  EXPECT_FALSE(pruned.measured);
  EXPECT_DOUBLE_EQ(estimate(device, pruned.model, setup_).energy_j.value, pruned.after->energy_j.value);

  int checks = 0;
  const Pruned checked =
      prune(device, model, setup_, half, {.on_check = [&](int, double, const MeasuredShare&) { ++checks; }});
  EXPECT_EQ(checks, checked.checks);
  EXPECT_LE(checked.measured->share, 0.5);
  EXPECT_LT(prune_by_flops(model, 8, half).flops_after, 0.5 * model.flops(8));
  Device stored = Device::stored(path("store.db"));
  EXPECT_EQ(kind_of([&] { prune(stored, model, setup_, half, {}); }), ErrorKind::kBadInput);
}

TEST_F(Library, SchedulesAFileOfJobs) {
  Device device = open();
  const Model model = Model::load("lenet5");
  profile(device, model, setup_, quick_);
  const std::string battery = R"("battery": {"capacity": "10Wh", "charge": "9Wh"})";
  std::ofstream(path("jobs.json"))
      << R"({"schema_version": 1, "devices": [{"name": "phone", "profile": ")" << device.id() << "\", "
      << battery << R"(}], "jobs": [{"name": "update", "network": "lenet5", "batch": 8, "samples": 1000},
                        {"name": "unknown", "network": "cnn5", "batch": 8, "samples": 1000,
                         "recipe": {"precision": "bf16"}}]})";
  const ScheduledJobs jobs = schedule_jobs_file(path("jobs.json"), {.store = path("store.db")});
  ASSERT_EQ(jobs.plan.jobs.size(), 1U);
  EXPECT_TRUE(jobs.modelled);
  const JobCost cost = job_cost(estimate(device, model, setup_), iterations_of(1000, 8, 1));
  EXPECT_DOUBLE_EQ(jobs.problem.jobs[0].costs[0]->energy_j.median, cost.energy_j.median);
  ASSERT_EQ(jobs.plan.refused.size(), 1U);
  EXPECT_EQ(jobs.plan.refused[0].kind, RefusalKind::kNotProfiled);
}

TEST_F(Library, WritesAReport) {
  Device device = open();
  const Model model = Model::load("lenet5");
  profile(device, model, setup_, quick_);
  const PageSummary page =
      write_report(device, path("page.html"),
                   {.title = "Mine", .models = {model}, .setup = setup_, .figures = path("figures")});
  EXPECT_EQ(page.bytes, std::filesystem::file_size(path("page.html")));
  EXPECT_EQ(page.estimates, 1);
  EXPECT_GT(page.surfaces, 0);
  EXPECT_GT(page.figures, 0);
  EXPECT_NE(read(path("page.html")).find("Mine"), std::string::npos);
  EXPECT_EQ(kind_of([&] { write_report(path("page.html"), {.results = {path("none.json")}}); }),
            ErrorKind::kBadInput);
}

// An estimate follows from the store and the network, not from what was asked before.
TEST_F(Library, EstimatesDoNotDependOnTheirOrder) {
  const std::vector<Model> models = {Model::load("lenet5"), Model::load("cnn5"), Model::load("lenet5:c1=3")};
  {
    Device device = open();
    for (const Model& model : models) profile(device, model, setup_, quick_);
  }
  const auto ask = [&](std::initializer_list<std::size_t> order) {
    Device device = Device::stored(path("store.db"));
    std::vector<Interval> told(models.size());
    for (std::size_t i : order) told[i] = estimate(device, models[i], setup_).energy_j;
    return told;
  };
  const std::vector<Interval> forwards = ask({0, 1, 2}), backwards = ask({2, 1, 0});
  for (std::size_t i = 0; i < models.size(); ++i) {
    EXPECT_EQ(forwards[i].value, backwards[i].value) << models[i].name();
    EXPECT_EQ(forwards[i].high, ask({i})[i].high) << models[i].name();
  }
}

// Two devices of one store, used by two threads.
TEST_F(Library, DevicesAreIndependent) {
  const Model model = Model::load("lenet5");
  {
    Device device = open();
    profile(device, model, setup_, quick_);
  }
  const auto ask = [&] {
    Device device = Device::stored(path("store.db"));
    return estimate(device, model, setup_).energy_j.value;
  };
  auto other = std::async(std::launch::async, ask);
  EXPECT_EQ(ask(), other.get());
}

TEST_F(Library, ReadsMeters) {
  bool listed = false;
  for (const MeterDescription& m : meters()) {
    if (m.name == "cpu-model") listed = m.available && m.modelled && m.scope == "process";
    EXPECT_EQ(m.available, m.why.empty()) << m.name;
  }
  EXPECT_TRUE(listed);
  EnergyMeter meter = EnergyMeter::open("cpu-model");
  EXPECT_EQ(meter.description().name, "cpu-model");
  EXPECT_FALSE(meter.behaviour());
  const EnergyReading before = meter.read();
  EXPECT_TRUE(meter.watch().moves);  // watching takes CPU time
  EXPECT_TRUE(meter.behaviour());
  const EnergyReading after = meter.read_at_tick();
  EXPECT_GT(after.energy_j, before.energy_j);
  EXPECT_GT(after.at_s, before.at_s);
  EXPECT_FALSE(meter.power_w());
  EXPECT_EQ(kind_of([&] { (void)meter.mean_power_w(0); }), ErrorKind::kBadInput);
  EXPECT_EQ(kind_of([] { EnergyMeter::open("thumb"); }), ErrorKind::kBadInput);
}

// A counter that moves every tenth reading, until it stands still.
TEST_F(Library, FindsTicksOfSlowMeters) {
  std::ofstream log(path("meter.jsonl"));
  log << R"({"meter":"slow","scope":"gpu"})"
      << "\n";
  for (int i = 0; i < 400; ++i)
    log << "{\"at_s\":" << 1 + 0.001 * i << ",\"energy_j\":" << std::min(i / 10, 12) << "}\n";
  log.close();
  EnergyMeter meter = EnergyMeter::open("replay:" + path("meter.jsonl"));
  EXPECT_EQ(meter.description().name, "slow");
  const EnergyReading first = meter.read_at_tick();
  EXPECT_NEAR(meter.behaviour()->tick_s, 0.01, 1e-6);
  EXPECT_EQ(meter.behaviour()->resolution_j, 1);
  EXPECT_FALSE(meter.behaviour()->continuous);
  EXPECT_NEAR(std::remainder(first.at_s - 0.9995, 0.01), 0, 1e-9);  // between the two readings around it
  const EnergyReading second = meter.read_at_tick();
  EXPECT_EQ(second.energy_j - first.energy_j, 1);
  EXPECT_NEAR(second.at_s - first.at_s, 0.01, 1e-9);
  EXPECT_EQ(kind_of([&] {
              for (int i = 0; i < 20; ++i) meter.read_at_tick();
            }),
            ErrorKind::kNoMeter);
}

}  // namespace
