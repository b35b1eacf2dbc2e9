// One function per verb: adds its options to the program and says what runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace ampere {

void add_detect(CLI::App& app);
void add_models(CLI::App& app);
void add_layers(CLI::App& app);
void add_convert(CLI::App& app);
void add_profile(CLI::App& app);
void add_estimate(CLI::App& app);
// `command`: what stands behind "--" on the command line, a program to run and meter.
void add_measure(CLI::App& app, const std::vector<std::string>& command);
void add_run(CLI::App& app, const std::vector<std::string>& command);
void add_evaluate(CLI::App& app);
void add_additivity(CLI::App& app);
void add_prune(CLI::App& app);
void add_tune(CLI::App& app);
void add_train(CLI::App& app);
void add_schedule(CLI::App& app);
void add_report(CLI::App& app);
void add_fleet(CLI::App& app);
void add_slurm(CLI::App& app);
void add_serve(CLI::App& app);
void add_store(CLI::App& app);
void add_completion(CLI::App& app);
void add_man(CLI::App& app);

}  // namespace ampere
