#include "report/assets.h"

// The assembler copies the files in: a megabyte as a C++ array would take the compiler minutes. Paths come
// from CMakeLists.txt, which also knows that this source depends on them.
#define AMPERE_ASSET(name, path)                                                                    \
  asm(".pushsection .rodata\n.balign 16\n.global ampere_asset_" #name "_begin\nampere_asset_" #name \
      "_begin:\n.incbin \"" path "\"\n.global ampere_asset_" #name "_end\nampere_asset_" #name      \
      "_end:\n.byte 0\n.popsection\n");                                                             \
  extern "C" const char ampere_asset_##name##_begin[]; /* NOLINT(bugprone-reserved-identifier) */   \
  extern "C" const char ampere_asset_##name##_end[];                                                \
  namespace ampere {                                                                                \
  std::string_view asset_##name() {                                                                 \
    return {ampere_asset_##name##_begin,                                                            \
            static_cast<std::size_t>(ampere_asset_##name##_end - ampere_asset_##name##_begin)};     \
  }                                                                                                 \
  }

AMPERE_ASSET(echarts, AMPERE_ECHARTS)
AMPERE_ASSET(figures, AMPERE_WEB_BUILT "/figures.js")
AMPERE_ASSET(draw, AMPERE_WEB "/draw.js")
AMPERE_ASSET(page_js, AMPERE_WEB_BUILT "/page.js")
AMPERE_ASSET(page_css, AMPERE_WEB "/page.css")
AMPERE_ASSET(page_html, AMPERE_WEB "/page.html")
