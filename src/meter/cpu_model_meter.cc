#include "meter/cpu_model_meter.h"

#include <sys/resource.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <sstream>

#include "base/error.h"
#include "meter/cpu_state.h"
#include "meter/sysfs.h"

namespace ampere {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

Seconds cpu_time() {
  timespec own{};
  rusage children{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own) != 0 || getrusage(RUSAGE_CHILDREN, &children) != 0) {
    throw Error(ErrorKind::kNoMeter, "meter cpu-model: the system does not tell this process's CPU time");
  }
  const double itself = static_cast<double>(own.tv_sec) + 1e-9 * static_cast<double>(own.tv_nsec);
  return Seconds(itself + seconds(children.ru_utime) + seconds(children.ru_stime));
}

class CpuModelMeter : public Meter {
 public:
  explicit CpuModelMeter(Watts per_core) : per_core_(per_core) {
    std::ostringstream description;
    description << "CPU time of this process times " << per_core.value()
                << " W per busy core (AMPERE_CPU_WATTS)";
    info_ = {"cpu-model", "process", true, description.str()};
  }
  const MeterInfo& info() const override { return info_; }
  Reading read() override {
    const Joules energy = per_core_ * cpu_time();
    return {energy, now()};
  }
  DeviceState state() override { return cpu_state(sysfs_root()); }

 private:
  Watts per_core_;
  MeterInfo info_;
};

}  // namespace

Watts cpu_watts_from_environment() {
  const char* text = std::getenv("AMPERE_CPU_WATTS");
  if (text == nullptr || *text == '\0') return Watts(kDefaultWattsPerCore);
  char* end = nullptr;
  const double watts = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(watts >= 0.01 && watts <= 1000)) {
    throw bad_input(std::string("AMPERE_CPU_WATTS is '") + text +
                    "': it must be the watts of one busy core, a number between 0.01 and 1000");
  }
  return Watts(watts);
}

std::unique_ptr<Meter> make_cpu_model_meter(Watts per_core) {
  if (!(per_core.value() >= 0.01 && per_core.value() <= 1000)) {
    throw bad_input("cpu-model: watts per busy core must be between 0.01 and 1000, not " +
                    std::to_string(per_core.value()));
  }
  return std::make_unique<CpuModelMeter>(per_core);
}

}  // namespace ampere
