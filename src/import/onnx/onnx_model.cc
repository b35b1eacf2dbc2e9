#include "import/onnx/onnx_model.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "import/onnx/wire.h"

// The numbers of messages and fields are those of onnx.proto; they never change.
namespace ampere::onnx {
namespace {

constexpr std::size_t kMostDims = 16;

ElementType element_type(std::int64_t code) {
  switch (code) {
    case 1:   // float
    case 10:  // float16
    case 11:  // double
    case 16:  // bfloat16
      return ElementType::kFloat;
    case 2:
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
    case 12:
    case 13:
      return ElementType::kInt;
    case 9:
      return ElementType::kBool;
    default:
      return ElementType::kOther;
  }
}

template <class T>
std::vector<double> numbers_in(const std::string& raw) {
  std::vector<double> out(raw.size() / sizeof(T));
  for (std::size_t i = 0; i < out.size(); ++i) {
    T value{};
    std::memcpy(&value, raw.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<double>(value);
  }
  return out;
}

std::optional<std::vector<double>> raw_values(const std::string& raw, std::int64_t type) {
  switch (type) {
    case 1:
      return numbers_in<float>(raw);
    case 2:
    case 9:
      return numbers_in<std::uint8_t>(raw);
    case 3:
      return numbers_in<std::int8_t>(raw);
    case 6:
      return numbers_in<std::int32_t>(raw);
    case 7:
      return numbers_in<std::int64_t>(raw);
    case 11:
      return numbers_in<double>(raw);
    default:
      return std::nullopt;
  }
}

Constant read_tensor(Wire& wire, std::string* name) {
  Constant out;
  std::int64_t type = 1, place = 0;
  std::string raw;
  std::vector<std::int64_t> ints;
  std::vector<double> reals;
  wire.message([&](Wire& w) {
    switch (w.field()) {
      case 1:
        w.integers(out.dims);
        break;
      case 2:
        type = w.integer();
        break;
      case 4:
        if (reals.size() < static_cast<std::size_t>(kKeptValues)) w.reals(reals);
        break;
      case 5:
      case 7:
        if (ints.size() < static_cast<std::size_t>(kKeptValues)) w.integers(ints);
        break;
      case 8:
        if (name) *name = w.text();
        break;
      case 9:
        raw = w.bytes_up_to(static_cast<std::size_t>(kKeptValues) * 8);
        break;
      case 14:
        place = w.integer();
        break;
      default:
        break;
    }
  });
  if (out.dims.size() > kMostDims)
    throw bad_input(wire.budget().where + ": a tensor of more than 16 dimensions");
  for (std::int64_t d : out.dims) {
    if (d < 0) throw bad_input(wire.budget().where + ": a tensor with a negative dimension");
  }
  out.type = element_type(type);
  if (place == 1) return out;  // kept in another file
  std::optional<std::vector<double>> values;
  if (!raw.empty())
    values = raw_values(raw, type);
  else if (!reals.empty())
    values = std::move(reals);
  else if (!ints.empty())
    values = std::vector<double>(ints.begin(), ints.end());
  else if (out.elements() == 0)
    values = std::vector<double>();
  const std::int64_t count = out.elements();
  if (values && count <= kKeptValues && static_cast<std::int64_t>(values->size()) == count)
    out.values = std::move(values);
  if (out.values) wire.spend(8 * count);
  return out;
}

void read_attribute(Wire& wire, std::map<std::string, Attribute>& out) {
  std::string name;
  Attribute a;
  wire.message([&](Wire& w) {
    switch (w.field()) {
      case 1:
        name = w.text();
        break;
      case 2:
        a.f = w.real();
        break;
      case 3:
        a.i = w.integer();
        break;
      case 4:
        a.s = w.bytes_up_to(4096);
        break;
      case 5:
        a.tensor = read_tensor(w, nullptr);
        break;
      case 6:
      case 11:
        a.graph = true;
        break;
      case 7:
        w.reals(a.floats);
        break;
      case 8:
        w.integers(a.ints);
        break;
      case 21:
        a.reference = w.text();
        break;
      default:
        break;
    }
  });
  out[name] = std::move(a);
}

Node read_node(Wire& wire) {
  if (--wire.budget().nodes < 0) throw bad_input(wire.budget().where + ": more than 100,000 nodes");
  wire.spend(256);
  Node node;
  wire.message([&](Wire& w) {
    switch (w.field()) {
      case 1:
        node.inputs.push_back(w.text());
        break;
      case 2:
        node.outputs.push_back(w.text());
        break;
      case 3:
        node.name = w.text();
        break;
      case 4:
        node.op = w.text();
        break;
      case 5:
        w.spend(256);
        read_attribute(w, node.attributes);
        break;
      case 7:
        node.domain = w.text();
        break;
      default:
        break;
    }
  });
  if (node.domain == "ai.onnx") node.domain.clear();
  return node;
}

Dim read_dim(Wire& wire) {
  Dim dim;
  wire.message([&](Wire& w) {
    if (w.field() == 1) dim.value = w.integer();
    if (w.field() == 2) dim.name = w.text();
  });
  if (dim.value < 0) dim.value = 0;
  return dim;
}

Declared read_declared(Wire& wire) {
  Declared out;
  wire.spend(128);
  wire.message([&](Wire& w) {
    if (w.field() == 1) out.name = w.text();
    if (w.field() != 2) return;
    w.message([&](Wire& type) {
      if (type.field() != 1) return;
      type.message([&](Wire& tensor) {
        if (tensor.field() == 1) out.type = element_type(tensor.integer());
        if (tensor.field() != 2) return;
        out.has_shape = true;
        tensor.message([&](Wire& shape) {
          shape.spend(64);
          if (shape.field() == 1) out.dims.push_back(read_dim(shape));
        });
      });
    });
  });
  if (out.dims.size() > kMostDims)
    throw bad_input(wire.budget().where + ": a value of more than 16 dimensions");
  return out;
}

void read_graph(Wire& wire, Model& model) {
  wire.message([&](Wire& w) {
    std::string name;
    switch (w.field()) {
      case 1:
        model.nodes.push_back(read_node(w));
        break;
      case 5: {
        w.spend(192);
        Constant tensor = read_tensor(w, &name);
        model.initializers[name] = std::move(tensor);
        break;
      }
      case 11:
        model.inputs.push_back(read_declared(w));
        break;
      case 12:
        model.outputs.push_back(read_declared(w));
        break;
      case 13: {
        Declared value = read_declared(w);
        model.shapes[value.name] = std::move(value);
        break;
      }
      default:
        break;
    }
  });
}

void read_opset(Wire& wire, Model& model) {
  std::string domain;
  std::int64_t version = 0;
  wire.message([&](Wire& w) {
    if (w.field() == 1) domain = w.text();
    if (w.field() == 2) version = w.integer();
  });
  if (domain.empty() || domain == "ai.onnx") model.opset = version;
}

Function read_function(Wire& wire) {
  Function out;
  wire.message([&](Wire& w) {
    switch (w.field()) {
      case 1:
        out.name = w.text();
        break;
      case 4:
        out.inputs.push_back(w.text());
        break;
      case 5:
        out.outputs.push_back(w.text());
        break;
      case 7:
        out.nodes.push_back(read_node(w));
        break;
      case 10:
        out.domain = w.text();
        break;
      default:
        break;
    }
  });
  return out;
}

// A file in memory for as long as it is read.
class Mapping {
 public:
  explicit Mapping(const std::string& path) {
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) throw bad_input(path + ": " + std::strerror(errno));
    struct stat info {};
    if (::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) fail(path + ": not a file");
    if (info.st_size == 0) fail(path + ": the file is empty");
    if (info.st_size > INT_MAX) fail(path + ": larger than 2 GB, which an ONNX file cannot be");
    size = static_cast<std::size_t>(info.st_size);
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd_, 0);
    if (data == MAP_FAILED) fail(path + ": " + std::strerror(errno));
  }
  ~Mapping() {
    ::munmap(data, size);
    ::close(fd_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  void* data = nullptr;
  std::size_t size = 0;

 private:
  [[noreturn]] void fail(const std::string& message) const {
    ::close(fd_);
    throw bad_input(message);
  }
  int fd_ = -1;
};

}  // namespace

std::int64_t Constant::elements() const {
  std::int64_t n = 1;
  for (std::int64_t d : dims) {
    if (__builtin_mul_overflow(n, d, &n)) return INT64_MAX;
  }
  return n;
}

Model read_model(const void* data, std::size_t size, const std::string& where) {
  if (size > static_cast<std::size_t>(INT_MAX)) throw bad_input(where + ": larger than 2 GB");
  Budget budget{where};
  Wire::Stream stream(static_cast<const std::uint8_t*>(data), static_cast<int>(size));
  // Every message is inside a limit, so that its end can be told from a fault.
  const auto whole = stream.PushLimit(static_cast<int>(size));
  Model model;
  bool graph = false;
  Wire wire(stream, budget);
  while (wire.next()) {
    switch (wire.field()) {
      case 2:
        model.producer = wire.text();
        break;
      case 3:
        model.producer_version = wire.text();
        break;
      case 7:
        graph = true;
        read_graph(wire, model);
        break;
      case 8:
        read_opset(wire, model);
        break;
      case 25:
        model.functions.push_back(read_function(wire));
        break;
      default:
        break;
    }
  }
  stream.PopLimit(whole);
  if (!graph || model.nodes.empty()) throw bad_input(where + ": no ONNX graph in it");
  return model;
}

Model read_model_file(const std::string& path) {
  const Mapping file(path);
  return read_model(file.data, file.size, path);
}

}  // namespace ampere::onnx
