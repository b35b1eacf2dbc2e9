// Files that are part of the program.
//
// AMPERE_EMBEDDED(name, path), outside of any namespace, gives `embedded_name()`, the bytes of the file. The
// name is unique in the program. The assembler copies the file in: a megabyte as a C++ array would take the
// compiler minutes. Paths come from CMakeLists.txt, which also knows that the source depends on them.
#pragma once

#include <cstddef>
#include <string_view>

// NOLINTBEGIN(bugprone-reserved-identifier): the names of the assembler's labels
#define AMPERE_EMBEDDED(name, path)                                                                       \
  asm(".pushsection .rodata\n.balign 16\n.global ampere_embedded_" #name "_begin\nampere_embedded_" #name \
      "_begin:\n.incbin \"" path "\"\n.global ampere_embedded_" #name "_end\nampere_embedded_" #name      \
      "_end:\n.byte 0\n.popsection\n");                                                                   \
  extern "C" const char ampere_embedded_##name##_begin[];                                                 \
  extern "C" const char ampere_embedded_##name##_end[];                                                   \
  static std::string_view embedded_##name() {                                                             \
    return {ampere_embedded_##name##_begin,                                                               \
            static_cast<std::size_t>(ampere_embedded_##name##_end - ampere_embedded_##name##_begin)};     \
  }
// NOLINTEND(bugprone-reserved-identifier)
