#include "protocol/trace_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace ampere {
namespace {

using testing::HasSubstr;

TraceRequest some_request() {
  TraceRequest request;
  request.path = "/home/me/net.pt";
  request.inputs = {{{3, 32, 32}, false, 0}, {{35}, true, 1}};
  request.batch = 4;
  request.limit_s = 2.5;
  return request;
}

TEST(TraceRequest, WrittenAndReadBack) {
  const TraceRequest read = trace_request_from_json(to_json(some_request()));
  EXPECT_EQ(read.path, "/home/me/net.pt");
  EXPECT_EQ(read.batch, 4);
  EXPECT_EQ(read.limit_s, 2.5);
  ASSERT_EQ(read.inputs.size(), 2u);
  EXPECT_EQ(read.inputs[0].shape, (std::vector<std::int64_t>{3, 32, 32}));
  EXPECT_FALSE(read.inputs[0].integer);
  EXPECT_TRUE(read.inputs[1].integer);
  EXPECT_EQ(read.inputs[1].batch_axis, 1);
  EXPECT_EQ(to_json(read), to_json(some_request()));
}

TEST(TraceRequest, WhatMakesNoSenseIsRefused) {
  const Json good = to_json(some_request());
  const Json huge = {{{"shape", {1 << 20, 1 << 20}}}};
  struct Row {
    const char* field;
    Json value;
    const char* says;
  };
  const std::vector<Row> rows = {
      {"path", "", "\"path\""},
      {"path", 3, "\"path\" must be text"},
      {"path", std::string("a\0b", 3), "\"path\""},
      {"path", std::string(5000, 'a'), "\"path\""},
      {"batch", 0, "\"batch\" must be between"},
      {"batch", "two", "\"batch\" must be a whole number"},
      {"limit_s", 0, "\"limit_s\" must be above 0"},
      {"limit_s", 1e9, "\"limit_s\" must be above 0"},
      {"inputs", 3, "\"inputs\" must be a list"},
      {"inputs", {3}, "input 0"},
      {"inputs", Json(std::vector<Json>(17, Json{{"shape", {1}}})), "at most 16"},
      {"inputs", {{{"shape", Json::array()}}}, "1 to 8 numbers"},
      {"inputs", {{{"shape", {0, 3}}}}, "above 0"},
      {"inputs", {{{"shape", {-3}}}}, "above 0"},
      {"inputs", huge, "fewer than 2^31"},
      {"inputs", {{{"shape", {3}}, {"dtype", "half"}}}, "float or int"},
      {"inputs", {{{"shape", {3}}, {"batch_axis", 2}}}, "\"batch_axis\" must be between 0 and 1"},
      {"inputs", {{{"shape", {3}}, {"colour", "red"}}}, "unknown field \"colour\""},
      {"file", "net.pt", "unknown field \"file\""},
  };
  for (const Row& row : rows) {
    Json changed = good;
    changed[row.field] = row.value;
    try {
      trace_request_from_json(changed);
      ADD_FAILURE() << row.field << " " << row.value;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kBadInput);
      EXPECT_THAT(e.what(), HasSubstr(row.says));
    }
  }
}

}  // namespace
}  // namespace ampere
