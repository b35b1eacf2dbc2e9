#include "meter/rapl_perf_meter.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "meter/cpu_state.h"
#include "meter/only_forward.h"
#include "meter/sysfs.h"

namespace ampere {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_open(const std::string& event, int error) {
  if (error == EACCES || error == EPERM) {
    no_meter(
        "meter rapl-perf",
        "no permission for the event power/" + event +
            "/. Until the next boot: sudo sysctl kernel.perf_event_paranoid=0; for one program: sudo setcap "
            "cap_perfmon=ep PROGRAM");
  }
  no_meter("meter rapl-perf",
           "the event power/" + event + "/ cannot be opened: " + std::generic_category().message(error));
}

// "0", "0,24" or "0-1": one CPU per socket.
std::vector<int> parse_cpus(const std::string& mask) {
  std::vector<int> cpus;
  for (const std::string& part : split_words(mask, ',')) {
    const std::size_t dash = part.find('-');
    const int first = std::atoi(part.c_str());
    const int last = dash == std::string::npos ? first : std::atoi(part.c_str() + dash + 1);
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

struct Counter {
  int descriptor;
  double joules_per_count;
};

class RaplPerfMeter : public Meter {
 public:
  RaplPerfMeter(const fs::path& root, PerfCalls calls) : root_(root), calls_(std::move(calls)) {
    const fs::path unit = root / "bus/event_source/devices/power";
    const auto type = read_integer(unit / "type");
    const std::vector<int> cpus = parse_cpus(read_text(unit / "cpumask").value_or(""));
    if (!type || cpus.empty() || !fs::exists(unit / "events/energy-pkg")) {
      no_meter(
          "meter rapl-perf",
          "no RAPL events under " + unit.string() +
              ". On a real Intel or AMD machine: sudo modprobe rapl; a virtual machine has none, use --meter "
              "cpu-model");
    }
    std::string list;
    try {
      for (const char* event : {"energy-pkg", "energy-ram"}) {
        if (!fs::exists(unit / "events" / event)) continue;
        for (const int cpu : cpus) open_counter(unit, event, static_cast<std::uint32_t>(*type), cpu);
        list += (list.empty() ? "" : ", ") + std::string(event);
      }
    } catch (...) {
      close_all();
      throw;
    }
    info_ = {"rapl-perf", "package", false,
             "perf events " + list + " of " + std::to_string(cpus.size()) + " socket(s)"};
  }
  ~RaplPerfMeter() override { close_all(); }
  RaplPerfMeter(const RaplPerfMeter&) = delete;
  RaplPerfMeter& operator=(const RaplPerfMeter&) = delete;

  const MeterInfo& info() const override { return info_; }
  Reading read() override {
    Reading reading{Joules(0), now()};
    for (const Counter& counter : counters_) {
      const auto count = calls_.value(counter.descriptor);
      if (!count) no_meter("meter rapl-perf", "the counter can no longer be read");
      reading.energy += Joules(static_cast<double>(*count) * counter.joules_per_count);
    }
    forward_.pass(reading.energy, "meter rapl-perf");
    return reading;
  }
  DeviceState state() override { return cpu_state(root_); }

 private:
  void open_counter(const fs::path& unit, const std::string& event, std::uint32_t type, int cpu) {
    // "event=0x02" and "2.3283064365386962890625e-10" joules per count.
    const std::string text = read_text(unit / "events" / event).value_or("");
    const double scale = read_number(unit / "events" / (event + ".scale")).value_or(0);
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || !(scale > 0))
      no_meter("meter rapl-perf", "the event power/" + event + "/ is malformed");
    const std::uint64_t config = std::strtoull(text.c_str() + equals + 1, nullptr, 0);
    const int descriptor = calls_.open(type, config, cpu);
    if (descriptor < 0) cannot_open(event, -descriptor);
    counters_.push_back({descriptor, scale});
  }
  void close_all() {
    for (const Counter& counter : counters_) calls_.close(counter.descriptor);
    counters_.clear();
  }

  fs::path root_;
  PerfCalls calls_;
  MeterInfo info_;
  std::vector<Counter> counters_;
  OnlyForward forward_;
};

}  // namespace

PerfCalls kernel_perf_calls() {
  PerfCalls calls;
  calls.open = [](std::uint32_t type, std::uint64_t config, int cpu) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = type;
    attributes.config = config;
    const long result = syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return result < 0 ? -errno : static_cast<int>(result);
  };
  calls.value = [](int descriptor) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    if (read(descriptor, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) return std::nullopt;
    return value;
  };
  calls.close = [](int descriptor) { close(descriptor); };
  return calls;
}

std::unique_ptr<Meter> make_rapl_perf_meter(const fs::path& root, PerfCalls calls) {
  return std::make_unique<RaplPerfMeter>(root, std::move(calls));
}

}  // namespace ampere
