// Inner loops written once and compiled twice: for any machine, and for one with AVX2, chosen when running.
//
// Neither version fuses a multiplication with an addition, and no sum changes its order: every machine
// computes the same digits. Defining AMPERE_NO_AVX2 leaves the second version out.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(AMPERE_NO_AVX2)
#define AMPERE_HAS_AVX2_VERSION 1
#define AMPERE_FOR_AVX2 __attribute__((target("avx2")))
#else
#define AMPERE_HAS_AVX2_VERSION 0
#endif

// For the shared body, which must end up inside each version to be compiled for it.
#define AMPERE_SHARED_BODY inline __attribute__((always_inline))

namespace ampere {

#if AMPERE_HAS_AVX2_VERSION
inline bool machine_has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}
#endif

}  // namespace ampere
