#include "store/address.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "store/store.h"

namespace ampere {
namespace {

bool begins(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

bool is_url(const std::string& address) {
  return begins(address, "postgresql://") || begins(address, "postgres://");
}

std::string decoded(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool code = text[i] == '%' && i + 2 < text.size();
    out += code ? static_cast<char>(std::strtol(text.substr(i + 1, 2).c_str(), nullptr, 16)) : text[i];
    if (code) i += 2;
  }
  return out;
}

bool is_secret(const std::string& word) { return decoded(word).find("password") != std::string::npos; }

constexpr const char* kSpaces = " \t\n\r\f\v";

struct Redacted {
  std::string address;
  std::vector<std::string> secrets;
};

// postgresql://user:SECRET@host/database?password=SECRET&...
Redacted redacted_url(const std::string& url) {
  Redacted out;
  const std::size_t host = url.find("://") + 3;
  // An @, / or ? that should have been written %40, %2F or %3F belongs to the password.
  std::size_t question = std::min(url.find('?', host), url.size());
  std::size_t at = url.rfind('@', question - 1);
  if (at == std::string::npos || at < host) {
    const std::size_t later = url.find_first_of("@=", question);
    const bool odd = later != std::string::npos && url[later] == '@';
    at = odd ? later : host;
    if (odd) question = std::min(url.find('?', at), url.size());
  }
  // The server's library reads it so: what stands before an @ that no / precedes is a user and a password.
  const std::size_t first = url.find_first_of("@/", host);
  if (first != std::string::npos && url[first] == '@' && first > at) {
    at = first;
    question = std::min(url.find('?', at), url.size());
  }
  std::string user = url.substr(host, at - host);
  if (const std::size_t colon = user.find(':'); colon != std::string::npos) {
    const std::string secret = user.substr(colon + 1);
    out.secrets.push_back(secret);
    // Where it has signs in it that should have been written as codes, messages may have a piece of it.
    constexpr std::size_t kLeastPiece = 3;
    for (std::size_t begin = 0; begin < secret.size();) {
      const std::size_t end = std::min(secret.find_first_of("@/?&=", begin), secret.size());
      if (end - begin >= kLeastPiece) out.secrets.push_back(secret.substr(begin, end - begin));
      begin = end + 1;
    }
    user.resize(colon);
  }
  out.address = url.substr(0, host) + user;
  out.address += url.substr(at, question - at);
  char between = '?';
  for (std::size_t begin = question; begin < url.size();) {
    const std::size_t end = std::min(url.find('&', begin + 1), url.size());
    const std::string part = url.substr(begin + 1, end - begin - 1);
    const std::size_t equals = std::min(part.find('='), part.size());
    if (is_secret(part.substr(0, equals))) {
      if (equals < part.size()) out.secrets.push_back(part.substr(equals + 1));
    } else {
      out.address += between + part;
      between = '&';
    }
    begin = end;
  }
  return out;
}

// service=NAME password='SECRET' ...
Redacted redacted_words(const std::string& words) {
  Redacted out;
  std::size_t i = 0;
  while (i < words.size()) {
    const std::size_t begin = i;
    const std::size_t equals = std::min(words.find('=', i), words.size());
    i = std::min(words.find_first_not_of(kSpaces, equals + 1), words.size());
    const std::size_t value = i;
    if (i < words.size() && words[i] == '\'') {
      for (++i; i < words.size() && words[i] != '\''; ++i) i += words[i] == '\\' ? 1 : 0;
      i = std::min(i + 1, words.size());
    } else {
      i = std::min(words.find_first_of(kSpaces, i), words.size());
    }
    if (is_secret(words.substr(begin, equals - begin))) {
      std::string secret = words.substr(value, i - value);
      out.secrets.push_back(secret);
      if (secret.size() > 2 && secret.front() == '\'')
        out.secrets.push_back(secret.substr(1, secret.size() - 2));
    } else {
      out.address += (out.address.empty() ? "" : " ") + words.substr(begin, i - begin);
    }
    i = std::min(words.find_first_not_of(kSpaces, i), words.size());
  }
  return out;
}

Redacted redacted(const std::string& address) {
  if (is_url(address)) return redacted_url(address);
  return is_server(address) ? redacted_words(address) : Redacted{address, {}};
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  if (what.empty()) return;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace

bool is_server(const std::string& address) { return is_url(address) || begins(address, "service="); }

std::string printable_address(const std::string& address) { return redacted(address).address; }

std::string without_secrets(std::string text, const std::string& address) {
  const Redacted clean = redacted(address);
  replace_all(text, address, clean.address);
  for (const std::string& secret : clean.secrets) {
    replace_all(text, secret, "***");
    replace_all(text, decoded(secret), "***");
  }
  return text;
}

std::string with_limits(const std::string& address) {
  std::string out = address;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (out.find(name + "=") != std::string::npos) return;
    const char* between = is_url(out) ? (out.find('?') == std::string::npos ? "?" : "&") : " ";
    out += between + name + "=" + value;
  };
  // A host that does not answer, and one that vanishes in the middle without a word.
  if (std::getenv("PGCONNECT_TIMEOUT") == nullptr) add("connect_timeout", "10");
  add("keepalives_idle", "10");
  add("tcp_user_timeout", "30000");
  add("client_encoding", "UTF8");
  add("fallback_application_name", "ampere");
  return out;
}

std::string aside_path(const std::string& place) {
  const std::string folder = data_folder();
  if (folder.empty()) {
    throw Error(ErrorKind::kFailed,
                "neither HOME nor XDG_DATA_HOME says where a file could be kept until the server is back");
  }
  return folder + "/aside/" + hex_digest(place) + ".db";
}

}  // namespace ampere
