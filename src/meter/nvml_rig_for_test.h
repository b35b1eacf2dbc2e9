// Puts the fake driver in place of NVIDIA's for one test, in its initial state.
#pragma once

#include <dlfcn.h>

#include <stdexcept>

#include "meter/environment_for_test.h"
#include "meter/fake_nvml_for_test.h"

namespace ampere {

class NvmlRig {
 public:
  NvmlRig() : path_("AMPERE_NVML_LIBRARY", FAKE_NVML), library_(dlopen(FAKE_NVML, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    state_ = reinterpret_cast<FakeNvml* (*)()>(dlsym(library_, "fake_nvml"))();
    *state_ = FakeNvml{};
    for (unsigned i = 0; i < 4; ++i) state_->gpus[i].uuid = "GPU-" + std::to_string(i) + "abc";
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("CUDA_DEVICE_ORDER");
  }
  ~NvmlRig() { dlclose(library_); }
  NvmlRig(const NvmlRig&) = delete;
  NvmlRig& operator=(const NvmlRig&) = delete;
  FakeNvml& driver() { return *state_; }

 private:
  Environment path_;
  void* library_;
  FakeNvml* state_;
};

}  // namespace ampere
