#include "bindings.h"

namespace ampere::python {

void bind_recipe(nb::module_& m) {
  nb::class_<Recipe>(m, "Recipe", "How a network is trained: what changes the cost of the same layer.")
      .def(
          "__init__",
          [](Recipe* self, std::string optimizer, std::string precision, bool autotune, bool deterministic,
             int threads, std::int64_t seed) {
            new (self)
                Recipe{std::move(optimizer), std::move(precision), autotune, deterministic, threads, seed};
          },
          nb::kw_only(), "optimizer"_a = "sgd", "precision"_a = "default", "autotune"_a = false,
          "deterministic"_a = false, "threads"_a = 1, "seed"_a = 1)
      .def_rw("optimizer", &Recipe::optimizer, "\"sgd\", \"momentum\", \"adam\"")
      .def_rw("precision", &Recipe::precision,
              "\"default\" (as PyTorch comes), \"fp32\" (strict), \"tf32\", \"bf16\"")
      .def_rw("autotune", &Recipe::autotune, "let the framework time its kernels and keep the fastest")
      .def_rw("deterministic", &Recipe::deterministic)
      .def_rw("threads", &Recipe::threads, "CPU threads")
      .def_rw("seed", &Recipe::seed, "of weights and data; not part of the key")
      .def("word", &Recipe::word, "One readable word: \"sgd-default-t1\".")
      .def("__repr__", [](const Recipe& r) { return "Recipe(" + r.word() + ")"; });

  nb::class_<TrainingSetup>(m, "TrainingSetup",
                            "What is trained besides the network: all else that decides its cost.")
      .def(
          "__init__",
          [](TrainingSetup* self, std::int64_t batch, const std::optional<Recipe>& recipe) {
            new (self) TrainingSetup(setup_of(batch, recipe));
          },
          "batch"_a = 1, "recipe"_a = nb::none())
      .def_rw("batch", &TrainingSetup::batch, "samples per iteration")
      .def_rw("recipe", &TrainingSetup::recipe)
      .def("__repr__", [](const TrainingSetup& s) {
        return "TrainingSetup(batch=" + std::to_string(s.batch) + ", recipe=" + s.recipe.word() + ")";
      });
}

}  // namespace ampere::python
