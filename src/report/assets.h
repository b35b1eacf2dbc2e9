// The files of src/report/web and the chart library, carried inside the program.
#pragma once

#include <string_view>

namespace ampere {

std::string_view asset_echarts();   // third_party/echarts/echarts.min.js
std::string_view asset_figures();   // what both the page and the SVG files are drawn by
std::string_view asset_draw();      // draws without a browser
std::string_view asset_page_js();   // puts the page together
std::string_view asset_page_css();  // how it looks
std::string_view asset_page_html();

}  // namespace ampere
