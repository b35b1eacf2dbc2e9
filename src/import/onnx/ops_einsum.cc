// Einsum of two values, which is a product of matrices with its dimensions in some order.
#include <algorithm>

#include "import/onnx/importer.h"
#include "import/onnx/sizes.h"

namespace ampere {
namespace {

using Kind = Value::Kind;

// The letters of both operands and of the result.
struct Equation {
  std::string a, b, out;
};

bool has(const std::string& letters, char c) { return letters.find(c) != std::string::npos; }

Equation equation_of(const onnx::Node& node) {
  std::string text = onnx::text_attr(node, "equation", "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::size_t comma = text.find(','), arrow = text.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || arrow < comma)
    throw Unsupported("other than two values and a result");
  Equation e{text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
  for (const std::string* part : {&e.a, &e.b, &e.out}) {
    for (char c : *part) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (!letter || std::count(part->begin(), part->end(), c) != 1)
        throw Unsupported("letters that are repeated or left out");
    }
  }
  return e;
}

// The one letter of `in` that is in `with` as well, but not in `without`.
char only(const std::string& in, const std::string& with, const std::string& without) {
  char found = 0;
  for (char c : in) {
    if (!has(with, c) || has(without, c)) continue;
    if (found != 0) throw Unsupported("a product over several dimensions");
    found = c;
  }
  if (found == 0) throw Unsupported("no product of matrices");
  return found;
}

// The value with its dimensions in the order of `wanted`. Scores cannot be turned.
Value turned(Importer& im, const Value& v, const std::string& letters, const std::string& wanted,
             const std::string& name) {
  if (letters.size() != im.sizes(v).size() || wanted.size() != letters.size())
    throw Unsupported("letters for other dimensions than its inputs have");
  if (letters == wanted) return v;
  Value out;
  out.kind = Kind::kData;
  const bool plain = v.kind == Kind::kData && v.pads.empty();
  const View view = plain ? v.view : im.data(v, name);
  out.scaled = plain && v.scaled;
  out.view.node = view.node;
  for (char c : wanted) {
    const std::size_t at = letters.find(c);
    if (at == std::string::npos) throw Unsupported("a sum over one value alone");
    out.view.dims.push_back(view.dims[at]);
  }
  return out;
}

void einsum(Importer& im, const onnx::Node& node) {
  Equation e = equation_of(node);
  if (node.inputs.size() != 2) throw Unsupported("other than two values and a result");
  const Value *a = &im.input(node, 0), *b = &im.input(node, 1);
  if (a->kind == Kind::kConstant || b->kind == Kind::kConstant) throw Unsupported("weights as an operand");
  const char inner = only(e.a, e.b, e.out);
  char left = only(e.a, e.out, e.b), right = only(e.b, e.out, e.a);
  if (e.out.find(left) > e.out.find(right)) {
    std::swap(a, b);
    std::swap(e.a, e.b);
    std::swap(left, right);
  }
  const std::string batch = e.out.substr(0, e.out.size() - 2);
  if (e.out.substr(batch.size()) != std::string{left, right})
    throw Unsupported("a result whose dimensions are turned");
  const std::string name = im.name_for(node);
  put_product(im, node, turned(im, *a, e.a, batch + left + inner, name),
              turned(im, *b, e.b, batch + inner + right, name));
}

}  // namespace

void add_einsum_op(Handlers& handlers) { handlers["Einsum"] = einsum; }

}  // namespace ampere
