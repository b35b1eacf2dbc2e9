#include "ampere/memory.h"

#include "bindings.h"
#include "device.h"

namespace ampere::python {
namespace {

MemoryPlace place_of(std::string type, std::string framework, std::string name) {
  return {std::move(type), std::move(framework), std::move(name)};
}

}  // namespace

void bind_memory(nb::module_& m) {
  nb::class_<MemoryEstimate>(m, "MemoryEstimate",
                             "Bytes that the framework's allocator hands out while a network is trained.")
      .def_ro("peak_bytes", &MemoryEstimate::peak_bytes, "the most at any moment of a step")
      .def_ro("weights_bytes", &MemoryEstimate::weights_bytes)
      .def_ro("gradients_bytes", &MemoryEstimate::gradients_bytes, "of the weights")
      .def_ro("optimizer_bytes", &MemoryEstimate::optimizer_bytes,
              "what the optimizer keeps from step to step")
      .def_ro("data_bytes", &MemoryEstimate::data_bytes, "inputs, targets, running means")
      .def_ro("saved_bytes", &MemoryEstimate::saved_bytes,
              "activations that the forward pass keeps for the backward pass")
      .def_ro("libraries_bytes", &MemoryEstimate::libraries_bytes,
              "what libraries of the device take for themselves")
      .def_ro("temporaries_bytes", &MemoryEstimate::temporaries_bytes,
              "of the peak: what is needed at that moment only")
      .def_ro("rough", &MemoryEstimate::rough, "compiled: what a compiler keeps is guessed")
      .def("__repr__", [](const MemoryEstimate& e) {
        return "MemoryEstimate(peak_bytes=" + std::to_string(static_cast<std::int64_t>(e.peak_bytes)) + ")";
      });
  m.def(
      "estimate_memory",
      [](const Model& model, std::int64_t batch, const std::optional<Recipe>& recipe, std::string type,
         std::string framework, std::string name) {
        const MemoryPlace place = place_of(std::move(type), std::move(framework), std::move(name));
        return unlocked([&] { return estimate_memory(model, setup_of(batch, recipe), place); });
      },
      "model"_a, "batch"_a = 1, "recipe"_a = nb::none(), nb::kw_only(), "type"_a = "cpu",
      "framework"_a = "libtorch 1.13", "name"_a = "",
      "How much memory training takes, on a device of this type (\"cpu\", \"cuda\"), framework and name; "
      "none "
      "is needed.");
  m.def(
      "largest_batch",
      [](const Model& model, double bytes, std::int64_t batch, const std::optional<Recipe>& recipe,
         std::string type, std::string framework, std::string name, std::int64_t most) {
        const MemoryPlace place = place_of(std::move(type), std::move(framework), std::move(name));
        return unlocked([&] { return largest_batch(model, setup_of(batch, recipe), place, bytes, most); });
      },
      "model"_a, "bytes"_a, "batch"_a = 1, "recipe"_a = nb::none(), nb::kw_only(), "type"_a = "cpu",
      "framework"_a = "libtorch 1.13", "name"_a = "", "most"_a = std::int64_t{1} << 20,
      "The largest batch whose peak is within so many bytes; 0: not even one sample fits. Of captured steps, "
      "whose batch is fixed, about.");
  m.def(
      "device_memory_bytes",
      [](SharedDevice& device) { return device.use([](Device& d) { return device_memory_bytes(d); }); },
      "device"_a, "The memory of a device, where its worker told it; else None.");
  m.def("usable_memory_bytes", &usable_memory_bytes, "bytes"_a, "type"_a = "cpu",
        "Of a device's memory, what is left for networks.");
}

}  // namespace ampere::python
