#include "worker/kernel_name.h"

#include <cxxabi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace ampere::worker {
namespace {

std::uint32_t hash_of(const std::string& text) {  // FNV-1a
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return text ? text.get() : name;
}

// Up to the arguments, without what stands in angle brackets.
std::string without_templates(std::string name) {
  static const std::string kAnonymous = "(anonymous namespace)::";
  for (auto at = name.find(kAnonymous); at != std::string::npos; at = name.find(kAnonymous))
    name.erase(at, kAnonymous.size());
  std::string out;
  int depth = 0;
  for (const char c : name) {
    if (c == '(' && depth == 0) break;
    if (c == '<') ++depth;
    if (depth == 0) out += c;
    if (c == '>' && depth > 0) --depth;
  }
  return out;
}

}  // namespace

std::string short_kernel_name(const std::string& name) {
  std::string text = without_templates(demangled(name));
  const auto qualifier = text.find_last_of(": ");
  if (qualifier != std::string::npos) text = text.substr(qualifier + 1);
  constexpr std::size_t kLongest = 60;
  char hash[10];
  std::snprintf(hash, sizeof hash, "~%08x", hash_of(name));
  return text.substr(0, kLongest) + hash;
}

}  // namespace ampere::worker
