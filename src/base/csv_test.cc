#include "base/csv.h"

#include <gtest/gtest.h>

namespace ampere {
namespace {

TEST(Csv, CellsAreTextAndNothingElse) {
  const std::pair<const char*, const char*> cases[] = {
      {"lenet5", "lenet5"},
      {"", ""},
      {"lenet5:c1=3", "lenet5:c1=3"},
      {"lenet5:c1=3,c2=8", "\"lenet5:c1=3,c2=8\""},
      {"say \"no\"", "\"say \"\"no\"\"\""},
      {"two\nlines", "\"two\nlines\""},
      // Formulas of whoever named the network.
      {"=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"},
      {"=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""},
      {"+cmd", "'+cmd"},
      {"-2+3+cmd", "'-2+3+cmd"},
      {"@SUM(A1)", "'@SUM(A1)"},
      {"\t=1", "'\t=1"},
      {"\r=1", "\"'\r=1\""},
      {"-", "'-"},
      // Numbers stay numbers.
      {"-3", "-3"},
      {"-3.5e-7", "-3.5e-7"},
      {"+0.25", "+0.25"},
  };
  for (const auto& [text, cell] : cases) EXPECT_EQ(csv_cell(text), cell);
}

}  // namespace
}  // namespace ampere
