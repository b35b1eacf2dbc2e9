#include "fleet/slurm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace ampere {
namespace {

using testing::HasSubstr;

TEST(Slurm, TheScriptReadsItsTable) {
  const std::string script = slurm_script("/etc/slurm/table.tsv");
  EXPECT_THAT(script, HasSubstr("local TABLE = \"/etc/slurm/table.tsv\""));
  EXPECT_TRUE(is_slurm_script(script));
  EXPECT_FALSE(is_slurm_script("function slurm_job_submit() end"));
  for (const char* bad : {"", "table.tsv", "/a\"b", "/a\\b", "/a\nb"}) EXPECT_THROW(slurm_script(bad), Error);
}

TEST(Slurm, TablesAreLinesOfTabs) {
  EXPECT_EQ(slurm_table({{"lenet5", 32, "gpu", {0.5, 0.4, 0.6}, {0.01, 0.008, 0.0125}}}),
            "lenet5\t32\tgpu\t0.5\t0.4\t0.6\t0.01\t0.0125\t-\t-\t-\n");
  EXPECT_EQ(slurm_table({{"a", 1, "gpu", {2, 1, 3}, {4, 3, 5}}}, tariff_of("0.36EUR/kWh", "36g/kWh")),
            "a\t1\tgpu\t2\t1\t3\t4\t5\t1e-07\tEUR\t1e-05\n");
}

TEST(Slurm, FilesOfPartitionsAndNetworks) {
  const auto read = [](const char* text) { return slurm_file_from_json(parse_json(text, "test"), "test"); };
  const SlurmFile file = read(R"({"partitions": {"cpu": "board", "gpu": "0123"}, "models": [
    {"model": "lenet5", "batch": 32}, {"name": "small", "model": "lenet5:c1=3,f1=60", "optimizer": "adam"}]})");
  EXPECT_EQ(file.partitions.at("gpu"), "0123");
  EXPECT_EQ(file.models[0].name, "lenet5");
  EXPECT_EQ(file.models[1].recipe.optimizer, "adam");
  for (const char* bad :
       {R"({"partitions": {}, "models": [{"model": "lenet5"}]})",
        R"({"partitions": {"a": "b"}, "models": []})",
        R"({"partitions": {"a": "b"}, "models": [{"model": "lenet5"}], "price": "cheap"})",
        R"({"partitions": {"a": 3}, "models": [{"model": "lenet5"}]})",
        R"({"partitions": {"a": "b"}, "models": [{"model": "lenet5:c1=3,f1=60"}]})",
        R"({"partitions": {"a": "b"}, "models": [{"model": "lenet5"}, {"model": "lenet5"}]})",
        R"({"partitions": {"a": "b"}, "models": [{"model": "lenet5", "optimizer": "newton"}]})"})
    EXPECT_THROW(read(bad), Error) << bad;
}

TEST(Slurm, PlansBecomeCalls) {
  Problem problem;
  problem.devices.resize(2);
  problem.devices[0].name = "gpu";
  problem.devices[1].name = "cpu";
  problem.jobs.resize(3);
  problem.jobs[0].name = "a";
  problem.jobs[1].name = "b $(true)";
  problem.jobs[2].name = "c";
  problem.jobs[2].depends_on = {1};
  Plan plan;
  plan.jobs = {{2, 0, 130, 190.5, 0, 0, 0}, {0, 0, 0, 120, 0, 0, 0}, {1, 1, 0.5, 60, 0, 0, 0}};
  const std::string script = sbatch_script(problem, plan, "train");
  EXPECT_EQ(
      script,
      "#!/bin/sh\nset -e\n"
      "job1=$(sbatch --parsable --job-name 'a' --partition 'gpu' --begin now+0 --time 3 --wrap 'train')\n"
      "job2=$(sbatch --parsable --job-name 'b $(true)' --partition 'cpu' --begin now+1 --time 2 --wrap "
      "'train')\n"
      "job3=$(sbatch --parsable --job-name 'c' --partition 'gpu' --begin now+130 --time 3 --dependency "
      "\"afterok:$job2,afterany:$job1\" --wrap 'train')\n");
}

TEST(Slurm, NamesAreNotPutWithinQuotes) {
  EXPECT_NO_THROW(sbatch_script({}, {}, "./train.sh {job} \"it's\" \\\" {job}"));
  for (const char* command :
       {"train '{job}'", "train \"{job}\"", "train \"a 'b' {job}\"", "echo `echo {job}`"})
    EXPECT_THROW(sbatch_script({}, {}, command), Error) << command;
}

TEST(Slurm, JobsAsScontrolShowsThem) {
  const auto jobs = slurm_jobs(
      "JobId=7 JobName=train me now JobState=COMPLETED RunTime=1-00:00:05 Partition=gpu "
      "Comment=ampere:lenet5,batch=32 "
      "AdminComment=ampere:lenet5,batch=32,partition=gpu,joules=12.5,joules_low=10,joules_high=15,seconds=4,"
      "seconds_high=5,cost=3,cost_low=2,cost_high=4,currency=EUR,grams=30,grams_low=20,grams_high=40\n"
      "JobId=8 JobName=x JobState=RUNNING RunTime=00:00:01 Partition=cpu "
      "AdminComment=ampere:a,partition=cpu,joules=1,seconds=2\n"
      "JobId=9 JobState=COMPLETED RunTime=00:00:01 Partition=cpu AdminComment=of somebody else\n"
      "nonsense\n\n");
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].id, "7");
  EXPECT_EQ(jobs[0].name, "lenet5");
  EXPECT_EQ(jobs[0].predicted_partition, "gpu");
  EXPECT_EQ(jobs[0].energy_j.high, 15);
  EXPECT_EQ(jobs[0].took_s, 86405);
  EXPECT_FALSE(jobs[1].took_s) << "it runs still";
  ASSERT_TRUE(jobs[0].cost && jobs[0].carbon_g);
  EXPECT_EQ(jobs[0].cost->high, 4);
  EXPECT_EQ(jobs[0].currency, "EUR");
  EXPECT_EQ(jobs[0].carbon_g->low, 20);
  EXPECT_FALSE(jobs[1].cost);
}

}  // namespace
}  // namespace ampere
