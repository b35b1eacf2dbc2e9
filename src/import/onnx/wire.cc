#include "import/onnx/wire.h"

#include <cstring>

#include "base/error.h"

namespace ampere::onnx {
namespace {

enum : int { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

double as_real(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace

void Wire::broken() const {
  throw bad_input(budget_.where + ": not a valid ONNX file (truncated, damaged, or of another format)");
}

void Wire::spend(std::int64_t bytes) {
  budget_.bytes -= bytes;
  if (budget_.bytes < 0)
    throw bad_input(budget_.where + ": larger than an ONNX graph can be (128 MB without its weights)");
}

bool Wire::next() {
  if (!read_) skip();
  tag_ = stream_.ReadTag();
  if (tag_ == 0) {
    // The end of the message, or something that is no tag.
    if (!stream_.ConsumedEntireMessage() && stream_.BytesUntilLimit() != 0) broken();
    return false;
  }
  if (field() == 0) broken();
  read_ = false;
  return true;
}

std::uint32_t Wire::length() {
  std::uint32_t size = 0;
  if (wire_type() != kBytes || !stream_.ReadVarint32(&size)) broken();
  if (size > static_cast<std::uint32_t>(INT32_MAX)) broken();
  const int left = stream_.BytesUntilLimit();
  if (left >= 0 && size > static_cast<std::uint32_t>(left)) broken();
  return size;
}

void Wire::skip() {
  read_ = true;
  bool good = false;
  std::uint64_t number = 0;
  switch (wire_type()) {
    case kVarint:
      good = stream_.ReadVarint64(&number);
      break;
    case kFixed64:
      good = stream_.Skip(8);
      break;
    case kBytes:
      good = stream_.Skip(static_cast<int>(length()));
      break;
    case kFixed32:
      good = stream_.Skip(4);
      break;
    default:  // groups, which ONNX never used
      break;
  }
  if (!good) broken();
}

int Wire::enter() {
  read_ = true;
  const std::uint32_t size = length();
  return static_cast<int>(stream_.PushLimit(static_cast<int>(size)));
}

void Wire::leave(int old) {
  if (stream_.BytesUntilLimit() != 0) broken();
  stream_.PopLimit(old);
}

std::int64_t Wire::integer() {
  read_ = true;
  std::uint64_t value = 0;
  if (wire_type() != kVarint || !stream_.ReadVarint64(&value)) broken();
  return static_cast<std::int64_t>(value);
}

double Wire::real() {
  read_ = true;
  std::uint32_t bits = 0;
  if (wire_type() != kFixed32 || !stream_.ReadLittleEndian32(&bits)) broken();
  return as_real(bits);
}

std::string Wire::text() {
  read_ = true;
  const std::uint32_t size = length();
  spend(size + 32);
  std::string out;
  if (!stream_.ReadString(&out, static_cast<int>(size))) broken();
  return out;
}

std::string Wire::bytes_up_to(std::size_t most) {
  read_ = true;
  const std::uint32_t size = length();
  std::string out;
  const bool wanted = size <= most;
  if (wanted) spend(size);
  if (wanted ? !stream_.ReadString(&out, static_cast<int>(size)) : !stream_.Skip(static_cast<int>(size)))
    broken();
  return out;
}

void Wire::integers(std::vector<std::int64_t>& out) {
  if (wire_type() == kVarint) {
    spend(8);
    out.push_back(integer());
    return;
  }
  const int old = enter();
  while (stream_.BytesUntilLimit() > 0) {
    std::uint64_t value = 0;
    spend(8);
    if (!stream_.ReadVarint64(&value)) broken();
    out.push_back(static_cast<std::int64_t>(value));
  }
  leave(old);
}

void Wire::reals(std::vector<double>& out) {
  if (wire_type() == kFixed32) {
    spend(8);
    out.push_back(real());
    return;
  }
  const int old = enter();
  while (stream_.BytesUntilLimit() > 0) {
    std::uint32_t bits = 0;
    spend(8);
    if (!stream_.ReadLittleEndian32(&bits)) broken();
    out.push_back(as_real(bits));
  }
  leave(old);
}

}  // namespace ampere::onnx
