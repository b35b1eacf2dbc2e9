// What an import tells about the file: what was lost on export, what was put back, what is not supported.
#include "import/onnx/importer.h"
#include "import/unsupported.h"

namespace ampere {

// PyTorch's newer exporter leaves out biases that are all zero, as those of a fresh network often are. A
// convolution without one has none in truth where a batch norm is at work; those on a single position
// (squeeze-and-excite) and those of networks without batch norms had one.
void Importer::restore_biases() {
  if (!by_torch_export_) return;
  const bool normed = seen.batchnorms > 0 || seen.batchnorms_folded > 0;
  for (int n : seen.bare) {
    const Node& node = draft_.node(n);
    const Tensor& out = draft_.shape(n);
    const bool conv = node.op == Op::kConv1d || node.op == Op::kConv2d;
    const bool single = conv && out.elements() == out.dims[0] * out.dims[1];
    if (conv && normed && !single) continue;
    draft_.set(n, "bias", true);
    ++result_.biases_restored;
  }
}

void Importer::add_notes() {
  const bool trains = seen.batchnorms_in_training > 0 || seen.dropouts > 0;
  result_.batchnorms_lost = seen.batchnorms_folded;
  const int still = seen.batchnorms - seen.batchnorms_in_training;
  result_.for_inference = !trains && (seen.batchnorms_folded > 0 || still > 0 || by_torch_export_);
  auto& notes = result_.notes;
  const std::string keep =
      "torch.onnx.export(model.train(), x, \"net.onnx\", dynamo=False, "
      "training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)";
  if (seen.batchnorms_folded > result_.batchnorms_restored) {
    notes.push_back(
        "exported for inference: " + std::to_string(seen.batchnorms_folded) +
        " batch norms were folded into convolutions, so the estimate misses what training them costs; "
        "--restore-batchnorm puts them back, or export with " +
        keep);
  } else if (seen.batchnorms_folded > 0) {
    notes.push_back("exported for inference: " + std::to_string(result_.batchnorms_restored) +
                    " batch norms that had been folded into convolutions were put back");
  }
  if (result_.for_inference) {
    notes.push_back(
        "an export for inference has no dropout: if the network has any, the estimate misses it; to keep "
        "it, export with " +
        keep);
  }
  if (seen.position_tables > 0) {
    notes.push_back(std::to_string(seen.position_tables) +
                    " biases of attention have lost their tables, because the exporter has looked them up; "
                    "they were taken as relative positions, with as many weights as those have");
  }
  if (result_.biases_restored > 0) {
    notes.push_back(
        std::to_string(result_.biases_restored) +
        " layers have no bias in the file, because the exporter leaves out biases that are all zero; "
        "they were given one");
  }
}

void Importer::refuse_unsupported() const { refuse(result_.unsupported, where_); }

}  // namespace ampere
