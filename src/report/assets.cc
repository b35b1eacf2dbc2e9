#include "report/assets.h"

#include "base/embedded.h"

#define AMPERE_ASSET(name, path)                                \
  AMPERE_EMBEDDED(name, path)                                   \
  namespace ampere {                                            \
  std::string_view asset_##name() { return embedded_##name(); } \
  }

AMPERE_ASSET(echarts, AMPERE_ECHARTS)
AMPERE_ASSET(figures, AMPERE_WEB_BUILT "/figures.js")
AMPERE_ASSET(draw, AMPERE_WEB "/draw.js")
AMPERE_ASSET(page_js, AMPERE_WEB_BUILT "/page.js")
AMPERE_ASSET(page_css, AMPERE_WEB "/page.css")
AMPERE_ASSET(page_html, AMPERE_WEB "/page.html")
