#include "serve/freeze.h"

#include <set>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "report/html.h"
#include "serve/assets.h"

namespace ampere {
namespace {

std::string_view asset_text(const std::string& name) {
  const WebAsset* asset = find_web_asset(name);
  if (!asset) throw Error(ErrorKind::kFailed, name + " is no file of the page");
  return asset->bytes;
}

// What stands between two marks, or nothing.
std::string between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t start = text.find(before);
  if (start == std::string_view::npos) return "";
  const std::size_t end = text.find(after, start + before.size());
  if (end == std::string_view::npos) return "";
  return std::string(text.substr(start + before.size(), end - start - before.size()));
}

template <class Take>
void for_each_line(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// "a, b as c" as what takes them out of an object: "a, b: c".
std::string as_pattern(std::string names) {
  for (std::size_t at; (at = names.find(" as ")) != std::string::npos;) names.replace(at, 4, ": ");
  return names;
}

// What a line that begins with "export " names.
std::string exported(std::string_view line) {
  for (const std::string_view form :
       {"export const ", "export function ", "export async function ", "export class "}) {
    if (line.rfind(form, 0) != 0) continue;
    const std::string_view rest = line.substr(form.size());
    return rest.front() == '{' ? between(rest, "{", "}")
                               : std::string(rest.substr(0, rest.find_first_of(" (=")));
  }
  throw Error(ErrorKind::kFailed, "a form of export that is not known: " + std::string(line));
}

void add_module(const std::string& name, std::set<std::string>& done, std::string& script) {
  if (!done.insert(name).second) return;
  std::string body, names;
  for_each_line(asset_text(name), [&](std::string_view line) {
    if (line.rfind("import ", 0) == 0) {
      const std::string from = between(line, "from './", "';"), taken = between(line, "import {", "}");
      if (from.empty() || taken.empty())
        throw Error(ErrorKind::kFailed, "a form of import that is not known: " + std::string(line));
      add_module(from, done, script);
      body += "const {" + as_pattern(taken) + "} = modules['" + from + "'];\n";
    } else if (line.rfind("export ", 0) == 0) {
      names += (names.empty() ? "" : ", ") + exported(line);
      body += std::string(line.substr(7)) + "\n";
    } else {
      body += std::string(line) + "\n";
    }
  });
  script += "modules['" + name + "'] = (() => {\n" + body + "return {" + names + "};\n})();\n";
}

}  // namespace

std::string bundled(const std::string& entry) {
  std::set<std::string> done;
  std::string script = "(() => {\n'use strict';\nconst modules = {};\n";
  add_module(entry, done, script);
  return script + "})();\n";
}

std::string frozen_page(const Json& kept) {
  const std::string nonce = page_nonce();
  const std::string script = "<script nonce=\"" + nonce + "\">\n";
  std::string page, scripts;
  for_each_line(asset_text("index.html"), [&](std::string_view line) {
    const std::string style = between(line, "<link rel=\"stylesheet\" href=\"/assets/", "\"");
    const std::string plain = between(line, "<script defer src=\"/assets/", "\"");
    const std::string module = between(line, "<script type=\"module\" src=\"/assets/", "\"");
    if (!style.empty()) {
      page += "<style nonce=\"" + nonce + "\">\n" + std::string(asset_text(style)) + "</style>\n";
    } else if (!plain.empty()) {  // deferred ones run once the page is there
      scripts += script + std::string(asset_text(plain)) + "\n</script>\n";
    } else if (!module.empty()) {
      scripts += script + bundled(module) + "</script>\n";
    } else if (line.find("<title>") != std::string_view::npos) {
      page +=
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-" +
          nonce + "'; style-src 'nonce-" + nonce +
          "'; img-src data: blob:; base-uri 'none'; form-action 'none'\">\n" + "<title>" +
          html_text(kept.value("title", "ampere")) + "</title>\n";
    } else if (line == "</body>") {
      page += "<script type=\"application/json\" id=\"frozen\">" + script_data(kept) + "</script>\n" +
              scripts + "</body>\n";
    } else {
      page += std::string(line) + "\n";
    }
  });
  return page;
}

}  // namespace ampere
