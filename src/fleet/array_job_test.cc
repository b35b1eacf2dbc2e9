#include "fleet/array_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace ampere {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> names(const std::vector<NodeType>& types) {
  std::vector<std::string> out;
  for (const NodeType& type : types) out.push_back(type.name);
  return out;
}

TEST(NodeTypes, APartitionOfEqualNodesIsOne) {
  const auto types = node_types(
      "big|n1|16|16000|(null)|(null)|idle\n"
      "big|n2|16|16000|(null)|(null)|mixed\n"
      "small|n3|16|16000|(null)|(null)|down*\n",
      {});
  ASSERT_THAT(names(types), ElementsAre("big", "small"));
  EXPECT_THAT(types[0].nodes, ElementsAre("n1", "n2"));
  EXPECT_THAT(types[0].others, IsEmpty());
  EXPECT_EQ(types[0].description, "16 CPUs, 16000 MB");
  EXPECT_TRUE(types[0].up);
  EXPECT_FALSE(types[1].up);
}

TEST(NodeTypes, WhatSetsThemApartIsInTheirNames) {
  const std::string printed =
      "gpu|a1|64|512000|a100,ib|gpu:4|idle\n"
      "gpu|h1|64|512000|h100,ib|gpu:4|drained\n"
      "gpu|h2|64|512000|h100,ib|gpu:4|idle\n"
      "cpu|c1|64|256000|(null)|(null)|idle\n"
      "cpu|c2|96|256000|(null)|(null)|idle\n";
  const auto types = node_types(printed, {});
  ASSERT_THAT(names(types), ElementsAre("gpu/a100,ib", "gpu/h100,ib", "cpu/64cpus", "cpu/96cpus"));
  EXPECT_THAT(types[1].nodes, ElementsAre("h1", "h2"));
  EXPECT_THAT(types[1].others, ElementsAre("a1"));
  EXPECT_TRUE(types[1].up);
  EXPECT_THAT(names(node_types(printed, {"cpu"})), ElementsAre("cpu/64cpus", "cpu/96cpus"));
  try {
    node_types(printed, {"cpu", "tpu"});
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("no partition \"tpu\" (it has: gpu, cpu)"));
  }
}

TEST(NodeTypes, PartitionsThatShareNodesShareTypes) {
  const std::string printed =
      "debug|n1|16|16000|(null)|(null)|drained\n"
      "long|n1|16|16000|(null)|(null)|drained\n"
      "long|n2|16|16000|(null)|(null)|idle\n";
  const auto types = node_types(printed, {});
  ASSERT_THAT(names(types), ElementsAre("debug"));
  EXPECT_EQ(types[0].partition, "long") << "where a node of it runs jobs";
  EXPECT_THAT(types[0].nodes, ElementsAre("n1", "n2"));
}

TEST(NodeTypes, NonsenseIsNone) { EXPECT_THAT(node_types("\n\nslurm_load: no\n|||\n", {}), IsEmpty()); }

TEST(ArrayJob, ItsScript) {
  const std::string script = array_script({{{"big", "big", "16 CPUs", {"n1"}, {}, true},
                                            {"it's", "small", "8 CPUs", {"n2", "n3"}, {"n4", "n5"}, true}},
                                           "ampere fleet profile --here \"$name\"",
                                           "ampere-fleet:0123",
                                           "--time 60",
                                           1});
  EXPECT_EQ(
      script,
      "#!/bin/sh\n"
      "# One task for each type of node:\n"
      "#   0  big: partition big, 1 node, 16 CPUs\n"
      "#   1  it's: partition small, 2 nodes, 8 CPUs\n"
      "set -e\n"
      "job=$(sbatch --parsable --hold --job-name ampere-profile --comment 'ampere-fleet:0123' --array 0-1%1 "
      "\\\n"
      "  --nodes 1 --ntasks 1 --exclusive --mem 0 --output 'ampere-profile-%A_%a.log' --partition 'big' "
      "--time 60 <<'TASK'\n"
      "#!/bin/sh\n"
      "case $SLURM_ARRAY_TASK_ID in\n"
      "0) name='big' ;;\n"
      "1) name='it'\\''s' ;;\n"
      "esac\n"
      "exec ampere fleet profile --here \"$name\"\n"
      "TASK\n"
      ")\n"
      "job=${job%%;*}  # of several clusters: ID;CLUSTER\n"
      "trap 'scancel \"$job\"' EXIT\n"
      "scontrol update JobId=\"${job}_0\" Partition='big'\n"
      "scontrol update JobId=\"${job}_1\" Partition='small' ExcNodeList='n4,n5'\n"
      "scontrol release \"$job\"\n"
      "trap - EXIT\n"
      "echo \"$job\"\n");
}

TEST(ArrayJob, NoLineBreaks) {
  EXPECT_THROW(array_script({{{"a", "a", "", {"n1"}, {}, true}}, "ampere 'net\nTASK\n.json'", "", "", 1}),
               Error);
}

TEST(ArrayJob, WhatBecameOfItsTasks) {
  auto tasks = array_tasks(
      "JobId=1 ArrayJobId=1 ArrayTaskId=2 JobState=FAILED Reason=NonZeroExitCode ExitCode=1:0 NodeList=n4\n"
      "JobId=3 ArrayJobId=1 ArrayTaskId=1 JobState=RUNNING Reason=None ExitCode=0:0 NodeList=n3\n"
      "JobId=4 ArrayJobId=1 ArrayTaskId=3-5%2 JobState=PENDING Reason=JobHeldUser NodeList=(null)\n"
      "JobId=5 JobState=COMPLETED\n");
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_TRUE(tasks[2].ended());
  EXPECT_FALSE(tasks[2].went_well());
  EXPECT_EQ(tasks[2].reason, "NonZeroExitCode");
  EXPECT_FALSE(tasks[1].ended());
  EXPECT_EQ(tasks[1].node, "n3");
  EXPECT_EQ(array_log("17", 3), "ampere-profile-17_3.log");
}

}  // namespace
}  // namespace ampere
