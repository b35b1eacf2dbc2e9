#include <random>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "report/assets.h"
#include "report/drawable.h"
#include "report/report.h"
#include "store/store.h"

namespace ampere {
namespace {

std::string as_text(const std::string& text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// JSON inside a page: "<" starts nothing there when it is written as an escape, whatever stands behind it.
std::string as_script_data(const Json& data) {
  std::string out;
  for (char c : data.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

// Which scripts of the page may run. Nobody who wrote a name in a result could know it.
std::string nonce() {
  std::random_device random;
  std::string seed;
  for (int i = 0; i < 8; ++i) seed += std::to_string(random());
  return hex_digest(seed) + hex_digest("ampere" + seed);
}

struct Blank {
  std::string_view name;  // "@DATA@"
  std::string_view text;
};

// Each blank is filled once, from left to right, so nothing that was filled in is read again.
std::string filled(std::string_view page, const std::vector<Blank>& blanks) {
  std::string out;
  while (!page.empty()) {
    std::size_t at = std::string_view::npos;
    const Blank* next = nullptr;
    for (const Blank& b : blanks) {
      if (const std::size_t found = page.find(b.name); found < at) {
        at = found;
        next = &b;
      }
    }
    out += page.substr(0, at);
    if (!next) break;
    out += next->text;
    page.remove_prefix(at + next->name.size());
  }
  return out;
}

}  // namespace

std::string report_page(const Json& data) {
  const Json shown = drawable(data);
  const std::string json = as_script_data(shown);
  const std::string title = as_text(shown.value("title", ""));
  const std::string script = std::string(asset_figures()) + std::string(asset_page_js());
  const std::string random = nonce();
  return filled(asset_page_html(), {{"@NONCE@", random},
                                    {"@TITLE@", title},
                                    {"@STYLE@", asset_page_css()},
                                    {"@DATA@", json},
                                    {"@ECHARTS@", asset_echarts()},
                                    {"@SCRIPT@", script}});
}

}  // namespace ampere
