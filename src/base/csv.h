// Cells of CSV files.
#pragma once

#include <string>

namespace ampere {

// Text as one cell. Programs that open a file of somebody else take a cell that begins with = + - @, a tab or
// a carriage return for a formula: it gets an apostrophe in front, unless it is a number. Commas, quotes and
// line breaks are quoted (RFC 4180).
std::string csv_cell(const std::string& text);

}  // namespace ampere
