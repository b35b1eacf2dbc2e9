// What can be told of the machine this process runs on.
#pragma once

#include <cstdint>
#include <string>

namespace ampere::worker {

// "AMD EPYC 7B13"; "cpu" when the kernel does not say.
std::string cpu_name();
// Bytes of memory, no more than the process's control group allows.
std::int64_t host_memory();
// Bytes that can still be taken without swapping.
std::int64_t host_free_memory();

// The matrix library that is really loaded: its own version where it tells one, else its file.
std::string loaded_blas();
// "jemalloc" or "glibc".
std::string loaded_allocator();
// Hands freed memory back to the system.
void trim_allocator();

// Throws Error{kBadInput} where so many threads are many more than the machine has cores.
void check_threads(int threads);

// CPU time used so far, by all threads of this process and by the calling one.
struct CpuSeconds {
  double process = 0;
  double thread = 0;
};
CpuSeconds cpu_seconds();

}  // namespace ampere::worker
