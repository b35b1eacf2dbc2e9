// What a vendor publishes of a device: all that is known of hardware which nobody has measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/roof.h"

namespace ampere {

struct DataSheet {
  std::string name;         // "NVIDIA H200 SXM"
  bool accelerator = true;  // a host issues its work
  Roof peak;                // without sparsity; the launch is believed where nobody states it
  double idle_w = 0;        // while a program waits; believed where nobody states it
  double limit_w = 0;       // that it may draw
  std::string source;       // which data sheet says so, and of which year
  std::vector<std::string> driver_names = {};  // as devices of this sheet call themselves
  double memory_bytes = 0;                     // 0: not told, or devices of one name have more or less

  // What its host does for a step besides issuing calls, which no sheet states: it is believed.
  double step_host_s() const;
  // What is within reach of its peaks.
  Roof roof() const;
};

// Reads one sheet. Throws Error{kBadInput} that names the field which is missing, unknown, or absurd: most
// often a figure in TFLOP/s or GB/s. data/devices.json shows how it is written.
DataSheet data_sheet_from(const Json& json, const std::string& where);
Json to_json(const DataSheet& sheet);

// A name of data/devices.json, which is part of the program, or else the path of a file with one sheet.
// Throws Error{kBadInput} that lists the names where it is neither.
DataSheet find_data_sheet(const std::string& name_or_path);
// The names that are known.
std::vector<std::string> data_sheet_names();
// By what a device calls itself; absent where no sheet is of it.
std::optional<DataSheet> data_sheet_of_device(const std::string& driver_name);

}  // namespace ampere
