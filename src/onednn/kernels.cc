#include "onednn/kernels.h"

#include "base/error.h"

namespace ampere::onednn {
namespace {

const dnnl::stream& stream() {
  static const dnnl::stream made(processor());
  return made;
}

}  // namespace

const dnnl::engine& processor() {
  static const dnnl::engine made(dnnl::engine::kind::cpu, 0);
  return made;
}

dnnl::memory::desc describe_value(const Value& value) {
  return {value.dims, dnnl::memory::data_type::f32, strides_of(value)};
}

dnnl::memory::desc describe_rows(const Dims& as) {
  return {as, dnnl::memory::data_type::f32, strides_of(as, Layout::kRows)};
}

dnnl::memory::desc any_layout(const Dims& dims) {
  return {dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}

dnnl::memory memory_at(const dnnl::memory::desc& description, const float* data) {
  // oneDNN asks for a pointer it may write to, whatever the kernel does with it.
  return {description, processor(), const_cast<float*>(data)};
}

void Call::run() const { kernel.execute(stream(), arguments); }

Call reorder(const dnnl::memory& from, const dnnl::memory& to) {
  return {dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}};
}

void Product::run(const float* a, const float* b, float* c, float beta) const {
  const dnnl::status status =
      dnnl::sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, scale, a, ta ? m : k, b, tb ? k : n, beta, c, n);
  if (status != dnnl::status::success) throw Error(ErrorKind::kFailed, "oneDNN: a matrix product failed");
}

}  // namespace ampere::onednn
