// A part of a captured training step, run from the description of its aten calls (docs/capture.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace c10 {
struct Device;
}

namespace ampere::worker {

// What the device's cache holds; several copies of a part run in turn so that it does not hold them all.
inline constexpr std::int64_t kUsualCacheBytes = std::int64_t{64} << 20;

class CapturedPart {
 public:
  // `calls` is the text of a JSON object. Throws Error{kBadInput} where it makes no sense or this LibTorch
  // lacks an op, Error{kOutOfMemory} when not even one copy fits.
  CapturedPart(const std::string& calls, c10::Device place, std::int64_t free_bytes);
  ~CapturedPart();

  int copies() const;
  // Issues one iteration of every copy: all forward, then all backward in turn, then the update.
  void run();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ampere::worker
