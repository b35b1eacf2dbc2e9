// What every meter promises, checked on each against hardware that the test plays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <memory>

#include "base/error.h"
#include "meter/battery_meter.h"
#include "meter/combined_meter.h"
#include "meter/fixture_for_test.h"
#include "meter/hwmon_meter.h"
#include "meter/nvml_meter.h"
#include "meter/nvml_rig_for_test.h"
#include "meter/rapl_meter.h"
#include "meter/rapl_perf_meter.h"
#include "meter/window.h"

namespace ampere {
namespace {

// The hardware behind one meter.
class Rig {
 public:
  virtual ~Rig() = default;
  virtual std::unique_ptr<Meter> open() = 0;
  virtual void use(Joules energy) = 0;  // the hardware uses so much
  virtual void vanish() = 0;            // it is taken away, or its driver is
  virtual void reset() = 0;             // the counter falls back
  virtual void deny() = 0;              // the user may not read it
};

class RaplRig : public Rig {
 public:
  std::unique_ptr<Meter> open() override { return make_rapl_meter(tree_.root()); }
  // Package 0 starts 329 J below its range, so the first uses wrap.
  void use(Joules energy) override {
    value_uj_ = (value_uj_ + std::llround(energy.value() * 1e6)) % 262143328850;
    tree_.set(kFile, value_uj_);
  }
  void vanish() override { tree_.remove("class/powercap/intel-rapl:0"); }
  void reset() override {
    tree_.set(kFile, 7);
    value_uj_ = 7;
  }
  void deny() override { tree_.deny(kFile); }
  void start_in_the_middle() { tree_.set(kFile, value_uj_ = 100000000000); }

 private:
  static constexpr const char* kFile = "class/powercap/intel-rapl:0/energy_uj";
  Fixture tree_{"intel_server"};
  long long value_uj_ = 262143000000;
};

class RaplPerfRig : public Rig {
 public:
  std::unique_ptr<Meter> open() override {
    PerfCalls calls;
    calls.open = [this](std::uint32_t type, std::uint64_t, int) {
      return denied_ || type != 28 ? -EACCES : 100 + next_++;
    };
    calls.value = [this](int descriptor) -> std::optional<std::uint64_t> {
      if (gone_) return std::nullopt;
      return descriptor == 100 ? count_ : 5000;
    };
    calls.close = [](int) {};
    return make_rapl_perf_meter(tree_.root(), calls);
  }
  void use(Joules energy) override { count_ += static_cast<std::uint64_t>(energy.value() * 4294967296.0); }
  void vanish() override { gone_ = true; }
  void reset() override { count_ = 0; }
  void deny() override { denied_ = true; }

 private:
  Fixture tree_{"intel_server"};
  std::uint64_t count_ = 1000000;
  int next_ = 0;
  bool gone_ = false;
  bool denied_ = false;
};

class NvmlContractRig : public Rig {
 public:
  std::unique_ptr<Meter> open() override { return make_nvml_meter(""); }
  void use(Joules energy) override { rig_.driver().gpus[0].energy_mj += std::llround(energy.value() * 1000); }
  void vanish() override { rig_.driver().gpus[0].energy_result = 15; }
  void reset() override { rig_.driver().gpus[0].energy_mj = 0; }
  void deny() override { rig_.driver().gpus[0].energy_result = 4; }

 private:
  NvmlRig rig_;
};

// Meters that integrate power see energy as time passing at a fixed power.
class PowerRig : public Rig {
 public:
  PowerRig(const char* tree, std::string file, double watts, bool battery)
      : tree_(tree), file_(std::move(file)), watts_(watts), battery_(battery) {}
  std::unique_ptr<Meter> open() override {
    const Clock clock = [this] { return time_; };
    if (battery_) return make_battery_meter(tree_.root(), {Seconds(0), clock});
    return make_hwmon_meter(tree_.root(), {"", Seconds(0), clock});
  }
  void use(Joules energy) override { time_ += energy / watts_; }
  void vanish() override { tree_.remove(file_); }
  void reset() override {}  // an integral cannot fall back
  void deny() override { tree_.deny(file_); }

 private:
  Fixture tree_;
  std::string file_;
  Watts watts_;
  bool battery_;
  Seconds time_{50};
};

class BatteryRig : public Rig {
 public:
  BatteryRig(const char* tree, std::string file, long long start, double joules_per_unit)
      : tree_(tree),
        file_(std::move(file)),
        value_(static_cast<double>(start)),
        joules_per_unit_(joules_per_unit) {}
  std::unique_ptr<Meter> open() override { return make_battery_meter(tree_.root(), {}); }
  void use(Joules energy) override {
    value_ -= energy.value() / joules_per_unit_;
    tree_.set(file_, std::llround(value_));
  }
  void vanish() override { tree_.remove(file_); }
  void reset() override { tree_.set(file_, std::llround(value_ += 1000)); }
  void deny() override { tree_.deny(file_); }

 private:
  Fixture tree_;
  std::string file_;
  double value_;
  double joules_per_unit_;
};

class CombinedRig : public Rig {
 public:
  std::unique_ptr<Meter> open() override {
    std::vector<std::unique_ptr<Meter>> parts;
    parts.push_back(gpu_.open());
    parts.push_back(package_.open());
    return make_combined_meter(std::move(parts));
  }
  void use(Joules energy) override {
    gpu_.use(energy * 0.75);
    package_.use(energy * 0.25);
  }
  void vanish() override { package_.vanish(); }
  void reset() override { gpu_.reset(); }
  void deny() override { package_.deny(); }

 private:
  NvmlContractRig gpu_;
  RaplPerfRig package_;
};

struct Case {
  const char* name;
  std::function<std::unique_ptr<Rig>()> make;
};

std::ostream& operator<<(std::ostream& out, const Case& which) { return out << which.name; }

template <class Made, class... Arguments>
std::function<std::unique_ptr<Rig>()> maker(Arguments... arguments) {
  return [=]() -> std::unique_ptr<Rig> { return std::make_unique<Made>(arguments...); };
}

const Case kCases[] = {
    {"rapl", maker<RaplRig>()},
    {"rapl_perf", maker<RaplPerfRig>()},
    {"nvml", maker<NvmlContractRig>()},
    {"hwmon", maker<PowerRig>("jetson_orin_nano", "class/hwmon/hwmon1/in1_input", 5.04, false)},
    {"iio", maker<PowerRig>("jetson_nano", "bus/i2c/drivers/ina3221x/6-0040/iio:device0/in_power0_input", 2.5,
                            false)},
    {"battery_energy",
     maker<BatteryRig>("intel_laptop", "class/power_supply/BAT0/energy_now", 38220000LL, 3600e-6)},
    {"battery_charge",
     maker<BatteryRig>("phone", "class/power_supply/battery/charge_now", 2900000LL, 4 * 3600e-6)},
    {"battery_power", maker<PowerRig>("netbook", "class/power_supply/BAT1/current_now", 6.0, true)},
    {"combined", maker<CombinedRig>()},
};

class MeterContract : public testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<Rig> rig_ = GetParam().make();
};

template <class Call>
ErrorKind kind_thrown(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_GT(std::string(error.what()).size(), 20U);
    return error.kind();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorKind::kFailed;
}

TEST_P(MeterContract, SaysWhatItIs) {
  const auto meter = rig_->open();
  EXPECT_FALSE(meter->info().name.empty());
  EXPECT_FALSE(meter->info().scope.empty());
  EXPECT_FALSE(meter->info().modelled);
  EXPECT_FALSE(meter->info().description.empty());
}

TEST_P(MeterContract, TellsJoules) {
  const auto meter = rig_->open();
  const Joules before = meter->read().energy;
  rig_->use(Joules(100));
  EXPECT_NEAR((meter->read().energy - before).value(), 100, 0.01);
}

TEST_P(MeterContract, OnlyGrowsAlsoAcrossWraps) {
  const auto meter = rig_->open();
  const Reading first = meter->read();
  Reading last = first;
  for (int i = 0; i < 50; ++i) {
    rig_->use(Joules(20));
    const Reading reading = meter->read();
    EXPECT_GE(reading.energy, last.energy);
    EXPECT_GE(reading.at, last.at);
    last = reading;
  }
  EXPECT_NEAR((last.energy - first.energy).value(), 1000, 0.5);
}

TEST_P(MeterContract, StandsStillWhenNothingIsUsed) {
  const auto meter = rig_->open();
  EXPECT_EQ(meter->read().energy, meter->read().energy);
}

TEST_P(MeterContract, StandingStillIsNeverAMeasurement) {
  const auto meter = rig_->open();
  Seconds time{0};
  WindowOptions options;
  options.clock = [&] { return time += Seconds(1e-4); };
  const Work work = [&](std::int64_t count) { time += Seconds(0.01) * static_cast<double>(count); };
  EXPECT_EQ(kind_thrown([&] { measure_windows(*meter, work, options); }), ErrorKind::kNoMeter);
}

TEST_P(MeterContract, FailsWhenTheHardwareDisappears) {
  const auto meter = rig_->open();
  meter->read();
  rig_->vanish();
  EXPECT_EQ(kind_thrown([&] { meter->read(); }), ErrorKind::kNoMeter);
}

TEST_P(MeterContract, NeverTellsLessThanBefore) {
  if (auto* rapl = dynamic_cast<RaplRig*>(rig_.get())) rapl->start_in_the_middle();
  const auto meter = rig_->open();
  rig_->use(Joules(10));
  const Joules before = meter->read().energy;
  rig_->reset();
  try {
    EXPECT_GE(meter->read().energy, before);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kNoMeter);
    EXPECT_THAT(error.what(), testing::HasSubstr("backwards"));
  }
}

TEST_P(MeterContract, ExplainsAMissingPermission) {
  rig_->deny();
  const NotRoot user;
  EXPECT_EQ(kind_thrown([&] { rig_->open(); }), ErrorKind::kNoMeter);
}

INSTANTIATE_TEST_SUITE_P(Meters, MeterContract, testing::ValuesIn(kCases),
                         [](const auto& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace ampere
