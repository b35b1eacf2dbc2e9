// What the files of the Python extension share. Each binds one public header, thinly: names, defaults and
// meaning are those of include/ampere. Enumerations are the words that people write.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "ampere/ampere.h"

namespace ampere::python {

namespace nb = nanobind;
using namespace nb::literals;

using Path = std::filesystem::path;  // str or os.PathLike

void bind_errors(nb::module_& m);
void bind_recipe(nb::module_& m);
void bind_model(nb::module_& m);
void bind_progress(nb::module_& m);
void bind_device(nb::module_& m);
void bind_profile(nb::module_& m);
void bind_estimate(nb::module_& m);
void bind_memory(nb::module_& m);
void bind_tariff(nb::module_& m);
void bind_tune(nb::module_& m);
void bind_prune(nb::module_& m);
void bind_schedule(nb::module_& m);
void bind_plan(nb::module_& m);
void bind_report(nb::module_& m);
void bind_meter(nb::module_& m);

// What the library computes is computed without Python's lock, so that other threads run meanwhile.
template <class Work>
auto unlocked(const Work& work) {
  const nb::gil_scoped_release released;
  return work();
}

// An enumerator and its word.
template <class Enum>
using Word = std::pair<const char*, Enum>;

// Throws Error{kBadInput} that lists the words.
template <class Enum, std::size_t kCount>
Enum from_word(const std::string& what, const std::string& word,
               const std::array<Word<Enum>, kCount>& words) {
  std::string known;
  for (const auto& [name, value] : words) {
    if (word == name) return value;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw Error(ErrorKind::kBadInput, what + " \"" + word + "\" is not known (known: " + known + ")");
}

inline MeasureMode mode_from(const std::string& word) {
  return from_word<MeasureMode, 2>("mode", word,
                                   {{{"eager", MeasureMode::kEager}, {"replay", MeasureMode::kReplay}}});
}

inline TrainingSetup setup_of(std::int64_t batch, const std::optional<Recipe>& recipe) {
  return {.batch = batch, .recipe = recipe.value_or(Recipe{})};
}

}  // namespace ampere::python
