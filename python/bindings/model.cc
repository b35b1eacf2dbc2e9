#include "bindings.h"

namespace ampere::python {
namespace {

Model load(const Path& model, std::vector<std::string> inputs, std::int64_t batch, std::string worker,
           std::map<std::string, std::int64_t> dims, bool restore_batchnorm, bool ignore_unsupported) {
  const LoadOptions options{.inputs = std::move(inputs),
                            .batch = batch,
                            .worker = std::move(worker),
                            .import = {std::move(dims), restore_batchnorm, ignore_unsupported}};
  return unlocked([&] { return Model::load(model.string(), options); });
}

void bind_parts(nb::module_& m) {
  nb::class_<Channels>(m, "Channels",
                       "How many channels (features of linear layers) a layer reads and puts out.")
      .def_ro("in_channels", &Channels::in)
      .def_ro("out_channels", &Channels::out)
      .def(
          "__eq__", [](const Channels& a, const Channels& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const Channels& c) { return nb::hash(nb::make_tuple(c.in, c.out)); })
      .def("__repr__", [](const Channels& c) {
        return "Channels(" + std::to_string(c.in) + ", " + std::to_string(c.out) + ")";
      });

  nb::class_<ModelLayer>(m, "ModelLayer",
                         "An op with weights, together with the ops without weights behind it.")
      .def_ro("name", &ModelLayer::name, "of its first op in the network")
      .def_prop_ro(
          "role", [](const ModelLayer& l) { return to_word(l.role); },
          "\"input\", \"hidden\", \"output\", \"only\"")
      .def_ro("kind", &ModelLayer::kind,
              "layers of one kind differ in channels only: \"conv3x3p1-relu@28x28b10\"")
      .def_ro("channels", &ModelLayer::channels)
      .def_ro("flops", &ModelLayer::flops, "per training iteration: forward, backward and update")
      .def_ro("parameters", &ModelLayer::parameters, "trained weights")
      .def("__repr__", [](const ModelLayer& l) { return "ModelLayer(" + l.name + ": " + l.kind + ")"; });

  nb::class_<KnownModel>(m, "KnownModel", "A network of the zoo.")
      .def_ro("name", &KnownModel::name)
      .def_ro("description", &KnownModel::description);
}

}  // namespace

void bind_model(nb::module_& m) {
  bind_parts(m);
  nb::class_<Model>(m, "Model",
                    "A network whose training is to be estimated. Immutable; weights are no part of it.")
      .def_static("load", &load, "model"_a, nb::kw_only(), "inputs"_a = std::vector<std::string>(),
                  "batch"_a = 1, "worker"_a = "", "dims"_a = std::map<std::string, std::int64_t>(),
                  "restore_batchnorm"_a = false, "ignore_unsupported"_a = false,
                  "A network of the zoo by name (\"lenet5\", \"resnet18:w1=32\"), or the path of a network "
                  "file (.json), "
                  "an ONNX file (.onnx) or a TorchScript file (.pt, .pth), which a worker runs once.")
      .def_static(
          "from_json",
          [](const std::string& json) { return unlocked([&] { return Model::from_json(json); }); }, "json"_a,
          "The text of a network file.")
      .def_static(
          "from_trace",
          [](const std::string& json, bool ignore_unsupported) {
            const ImportOptions options{.ignore_unsupported = ignore_unsupported};
            return unlocked([&] { return Model::from_trace(json, options); });
          },
          "json"_a, nb::kw_only(), "ignore_unsupported"_a = false,
          "What one forward pass did, as a worker's `trace` tells it (docs/protocol.md).")
      .def_prop_ro("name", &Model::name)
      .def_prop_ro("notes", &Model::notes, "what a user should know about how it was imported; mostly empty")
      .def_prop_ro("exported_batch", &Model::exported_batch, "the batch that an ONNX file fixes, or None")
      .def_prop_ro("parameters", &Model::parameters, "trained weights")
      .def("flops", &Model::flops, "batch"_a, "Floating-point operations of one training iteration.")
      .def(
          "layers",
          [](const Model& self, std::int64_t batch) { return unlocked([&] { return self.layers(batch); }); },
          "batch"_a, "In the order of the network.")
      .def("to_json", &Model::to_json, "A network file's text; from_json() gives the same network back.")
      .def(
          "save",
          [](const Model& self, const Path& path) { unlocked([&] { return self.save(path.string()), 0; }); },
          "path"_a)
      .def("__repr__", [](const Model& self) { return "Model(" + self.name() + ")"; });
  m.def("known_models", &known_models, "The networks of the zoo.");
}

}  // namespace ampere::python
