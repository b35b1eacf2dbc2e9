// One function per verb: adds its options to the program and says what runs it.
#pragma once

#include <CLI/CLI.hpp>

namespace ampere {

void add_detect(CLI::App& app);
void add_models(CLI::App& app);
void add_layers(CLI::App& app);
void add_profile(CLI::App& app);
void add_estimate(CLI::App& app);
void add_measure(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_store(CLI::App& app);

}  // namespace ampere
