// Reading protocol buffers field by field, without building messages: what is not asked for is stepped over,
// so gigabytes of weights cost nothing.
#pragma once

#include <google/protobuf/io/coded_stream.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ampere::onnx {

// Bytes that were copied out of the file, with a limit.
struct Budget {
  std::string where;  // the file, for error messages
  std::int64_t bytes = std::int64_t{128} << 20;
  std::int64_t nodes = 100000;
};

class Wire {
 public:
  using Stream = google::protobuf::io::CodedInputStream;
  Wire(Stream& stream, Budget& budget) : stream_(stream), budget_(budget) {}

  // Steps to the next field of this message; what was not read of the last one is skipped.
  bool next();
  int field() const { return static_cast<int>(tag_ >> 3); }

  std::int64_t integer();
  double real();  // a 32-bit float
  std::string text();
  // A list that is written one by one or all together.
  void integers(std::vector<std::int64_t>& out);
  void reals(std::vector<double>& out);
  // The bytes of the field if they are at most `most`, else none of them.
  std::string bytes_up_to(std::size_t most);
  // Reads the field as a message of its own.
  template <class Read>
  void message(const Read& read) {
    const int old = enter();
    Wire inner(stream_, budget_);
    while (inner.next()) read(inner);
    leave(old);
  }

  Budget& budget() { return budget_; }
  [[noreturn]] void broken() const;
  void spend(std::int64_t bytes);

 private:
  int wire_type() const { return static_cast<int>(tag_ & 7); }
  void skip();
  int enter();
  void leave(int old);
  std::uint32_t length();

  Stream& stream_;
  Budget& budget_;
  std::uint32_t tag_ = 0;
  bool read_ = true;  // the current field was read
};

}  // namespace ampere::onnx
