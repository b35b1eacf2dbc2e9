// Builds small ONNX files, byte by byte, so that tests need no other library.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace ampere::onnx {

class Bytes {
 public:
  Bytes& integer(int field, std::int64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Bytes& real(int field, float value) {
    varint((static_cast<std::uint64_t>(field) << 3) | 5);
    char raw[4];
    std::memcpy(raw, &value, 4);
    text_.append(raw, 4);
    return *this;
  }
  Bytes& bytes(int field, const std::string& value) {
    varint((static_cast<std::uint64_t>(field) << 3) | 2);
    varint(value.size());
    text_ += value;
    return *this;
  }
  const std::string& str() const { return text_; }

 private:
  void varint(std::uint64_t v) {
    for (; v >= 128; v >>= 7) text_ += static_cast<char>((v & 127) | 128);
    text_ += static_cast<char>(v);
  }
  std::string text_;
};

using Sizes = std::vector<std::int64_t>;

// One attribute: a number, a list of them, or a word.
struct At {
  At(const char* name, std::int64_t i) { b.bytes(1, name).integer(3, i).integer(20, 2); }
  At(const char* name, int i) : At(name, static_cast<std::int64_t>(i)) {}
  At(const char* name, double f) { b.bytes(1, name).real(2, static_cast<float>(f)).integer(20, 1); }
  At(const char* name, const Sizes& list) {
    b.bytes(1, name).integer(20, 7);
    for (std::int64_t v : list) b.integer(8, v);
  }
  At(const char* name, const char* word) { b.bytes(1, name).bytes(4, word).integer(20, 3); }
  Bytes b;
};

// A file under construction. Weights have shapes and no values, as they would be with external data.
class FileBuilder {
 public:
  explicit FileBuilder(std::int64_t opset = 17) : opset_(opset) {}

  // A dimension below 0 is named "dim<its place>".
  FileBuilder& input(const std::string& name, const Sizes& dims, int type = 1) {
    graph_.bytes(11, declared(name, dims, type));
    return *this;
  }
  FileBuilder& output(const std::string& name) {
    graph_.bytes(12, Bytes().bytes(1, name).str());
    return *this;
  }
  FileBuilder& weight(const std::string& name, const Sizes& dims, int type = 1) {
    Bytes t;
    for (std::int64_t d : dims) t.integer(1, d);
    graph_.bytes(5, t.integer(2, type).bytes(8, name).integer(14, 1).str());
    return *this;
  }
  FileBuilder& ints(const std::string& name, const Sizes& values, bool scalar = false) {
    Bytes t;
    if (!scalar) t.integer(1, static_cast<std::int64_t>(values.size()));
    t.integer(2, 7).bytes(8, name);
    std::string raw(values.size() * 8, '\0');
    if (!values.empty()) std::memcpy(raw.data(), values.data(), raw.size());
    graph_.bytes(5, t.bytes(9, raw).str());
    return *this;
  }
  FileBuilder& number(const std::string& name, float value) {
    std::string raw(4, '\0');
    std::memcpy(raw.data(), &value, 4);
    graph_.bytes(5, Bytes().integer(2, 1).bytes(8, name).bytes(9, raw).str());
    return *this;
  }
  FileBuilder& node(const std::string& op, const std::vector<std::string>& in,
                    const std::vector<std::string>& out, const std::vector<At>& attributes = {},
                    const std::string& domain = "") {
    graph_.bytes(1, make(op, in, out, attributes, domain));
    return *this;
  }
  // A function of domain "local" with one node per entry.
  FileBuilder& function(const std::string& name, const std::vector<std::string>& in,
                        const std::vector<std::string>& out, const std::vector<std::string>& nodes) {
    Bytes f;
    f.bytes(1, name).bytes(10, "local");
    for (const auto& i : in) f.bytes(4, i);
    for (const auto& o : out) f.bytes(5, o);
    for (const auto& n : nodes) f.bytes(7, n);
    functions_.push_back(f.str());
    return *this;
  }
  static std::string make(const std::string& op, const std::vector<std::string>& in,
                          const std::vector<std::string>& out, const std::vector<At>& attributes = {},
                          const std::string& domain = "") {
    Bytes n;
    for (const auto& i : in) n.bytes(1, i);
    for (const auto& o : out) n.bytes(2, o);
    n.bytes(3, "n_" + out.at(0)).bytes(4, op);
    for (const At& a : attributes) n.bytes(5, a.b.str());
    if (!domain.empty()) n.bytes(7, domain);
    return n.str();
  }
  std::string str() const {
    Bytes model;
    model.integer(1, 8).bytes(2, "test").bytes(7, graph_.str());
    model.bytes(8, Bytes().bytes(1, "").integer(2, opset_).str());
    for (const std::string& f : functions_) model.bytes(25, f);
    return model.str();
  }

 private:
  static std::string declared(const std::string& name, const Sizes& dims, int type) {
    Bytes shape;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      Bytes dim;
      if (dims[i] < 0)
        dim.bytes(2, "dim" + std::to_string(i));
      else
        dim.integer(1, dims[i]);
      shape.bytes(1, dim.str());
    }
    const std::string tensor = Bytes().integer(1, type).bytes(2, shape.str()).str();
    return Bytes().bytes(1, name).bytes(2, Bytes().bytes(1, tensor).str()).str();
  }

  std::int64_t opset_;
  Bytes graph_;
  std::vector<std::string> functions_;
};

}  // namespace ampere::onnx
