#include "report/html.h"

#include <random>

#include "base/digest.h"

namespace ampere {

std::string html_text(const std::string& text) {
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
std::string script_data(const Json& data) {
  std::string out;
  for (char c : data.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

std::string page_nonce() {
  std::random_device random;
  std::string seed;
  for (int i = 0; i < 8; ++i) seed += std::to_string(random());
  return hex_digest(seed) + hex_digest("ampere" + seed);
}

}  // namespace ampere
