#include "control/undo.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "base/json.h"

namespace ampere {
namespace {

constexpr const char* kKindWords[] = {"power_limit", "clock_lock", "sysfs"};

void require_done(const Nvml& nvml, int result, const Undo& undo) {
  if (result == Nvml::kSuccess) return;
  const std::string why = undo.target + ": " + nvml.message(result) + "; by hand: " + undo.command();
  if (result == Nvml::kNoPermission) throw NotPermitted(why);
  throw Error(ErrorKind::kFailed, why);
}

unsigned milliwatts_of(const Undo& undo) {
  unsigned value = 0;
  const char* end = undo.value.data() + undo.value.size();
  if (std::from_chars(undo.value.data(), end, value).ptr != end)
    throw Error(ErrorKind::kFailed, undo.target + ": \"" + undo.value + "\" is no power limit");
  return value;
}

}  // namespace

std::string Undo::line() const {
  return Json{{"kind", kKindWords[static_cast<int>(kind)]}, {"target", target}, {"value", value}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

Undo Undo::from_line(const std::string& line) {
  const Json json = parse_json(line, "a change of settings");
  const JsonReader r(json, "a change of settings");
  Undo undo;
  const std::string word = r.text("kind");
  for (int i = 0; i < 3; ++i) {
    if (word == kKindWords[i]) undo.kind = static_cast<Kind>(i);
  }
  undo.target = r.text("target");
  undo.value = r.text("value");
  return undo;
}

std::string Undo::command() const {
  switch (kind) {
    case Kind::kPowerLimit:
      return "sudo nvidia-smi -i " + target + " -pl " + std::to_string(milliwatts_of(*this) / 1000);
    case Kind::kClockLock:
      return "sudo nvidia-smi -i " + target + " -rgc";
    default:
      return "echo " + value + " | sudo tee " + target;
  }
}

Nvml::Device gpu_by_uuid(const Nvml& nvml, const std::string& uuid) {
  unsigned count = 0;
  nvml.device_count(&count);
  for (unsigned i = 0; i < count; ++i) {
    Nvml::Device device = nullptr;
    char text[96] = "";
    if (nvml.device_by_index(i, &device) == Nvml::kSuccess &&
        nvml.device_uuid(device, text, sizeof text) == Nvml::kSuccess && uuid == text)
      return device;
  }
  throw Error(ErrorKind::kFailed, uuid + ": the driver does not list this GPU any more; see nvidia-smi -L");
}

void write_sysfs(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  const ssize_t written = file < 0 ? -1 : write(file, text.data(), text.size());
  const int error = errno;
  if (file >= 0) close(file);
  if (written != static_cast<ssize_t>(text.size())) {
    const std::string why = path + ": cannot be written: " + std::strerror(error);
    if (error == EACCES || error == EPERM) throw NotPermitted(why);
    throw Error(ErrorKind::kFailed, why);
  }
}

void put_back(const Undo& undo, std::shared_ptr<const Nvml>& nvml) {
  if (undo.kind == Undo::Kind::kSysfs) return write_sysfs(undo.target, undo.value);
  if (!nvml) nvml = load_nvml();
  const Nvml::Device gpu = gpu_by_uuid(*nvml, undo.target);
  if (undo.kind == Undo::Kind::kPowerLimit) {
    const int result = nvml->set_power_limit_mw == nullptr
                           ? Nvml::kNotSupported
                           : nvml->set_power_limit_mw(gpu, milliwatts_of(undo));
    return require_done(*nvml, result, undo);
  }
  require_done(*nvml, nvml->release_clocks == nullptr ? Nvml::kNotSupported : nvml->release_clocks(gpu),
               undo);
}

}  // namespace ampere
