#include <string_view>
#include <vector>

#include "report/assets.h"
#include "report/drawable.h"
#include "report/html.h"
#include "report/report.h"

namespace ampere {
namespace {

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
  const std::string json = script_data(shown);
  const std::string title = html_text(shown.value("title", ""));
  const std::string script = std::string(asset_figures()) + std::string(asset_page_js());
  const std::string random = page_nonce();
  return filled(asset_page_html(), {{"@NONCE@", random},
                                    {"@TITLE@", title},
                                    {"@STYLE@", asset_page_css()},
                                    {"@DATA@", json},
                                    {"@ECHARTS@", asset_echarts()},
                                    {"@SCRIPT@", script}});
}

}  // namespace ampere
