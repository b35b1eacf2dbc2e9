// What Slurm's programs print.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ampere {

// Without their ends; the last one may have none. Empty ones are left out.
std::vector<std::string> lines_of(std::string_view text);

// The cells between separators, of which there may be nothing between.
std::vector<std::string> split(std::string_view text, char separator);

// A line of `scontrol -o show`: "A=1 B=two words C=3" -> {"A": "1", "B": "two words", "C": "3"}.
std::map<std::string, std::string> scontrol_fields(const std::string& line);

}  // namespace ampere
