#include "fleet/accounting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ampere {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// In the format of Slurm 22.05: sacct --noheader --parsable2 --format (accounting.h).
constexpr const char* kSteps =
    "41|3000|2026-11-17T10:00:00|2026-11-17T10:10:00|n[1-2]\n"
    "41.batch|600|2026-11-17T10:00:00|2026-11-17T10:10:00|n1\n"
    "41.extern|1250|2026-11-17T10:00:00|2026-11-17T10:10:00|n[1-2]\n"
    "41.0|500|2026-11-17T10:00:05|2026-11-17T10:04:00|n[1-2]\n"
    "41.1|650|2026-11-17T10:04:00|2026-11-17T10:09:55|n[1-2]\n";

TEST(Accounting, NoJouleCountsTwice) {
  EXPECT_THAT(accounted_energy_j(kSteps), ElementsAre(Pair("41", 1250))) << "extern was there all the time";
}

TEST(Accounting, WithoutAnExternStepThoseOfSrunAreAddedUp) {
  EXPECT_THAT(accounted_energy_j("7|1750|2026-11-17T10:00:00|2026-11-17T10:10:00|n[1-2]\n"
                                 "7.batch|600|2026-11-17T10:00:00|2026-11-17T10:10:00|n1\n"
                                 "7.0|500|2026-11-17T10:00:05|2026-11-17T10:04:00|n[1-2]\n"
                                 "7.1|650|2026-11-17T10:04:00|2026-11-17T10:09:55|n[1-2]\n"),
              ElementsAre(Pair("7", 1150)));
}

TEST(Accounting, OfStepsBesideEachOtherOneCounts) {
  EXPECT_THAT(accounted_energy_j("8.2|90|2026-11-17T10:00:02|2026-11-17T10:04:00|n1\n"
                                 "8.1|100|2026-11-17T10:00:01|2026-11-17T10:04:00|n1\n"
                                 "8.3|40|2026-11-17T10:00:01|2026-11-17T10:04:00|n2\n"
                                 "8.4|5|2026-11-17T10:05:00|2026-11-17T10:06:00|n1\n"),
              ElementsAre(Pair("8", 145)));
}

TEST(Accounting, AJobWithoutSteps) {
  EXPECT_THAT(accounted_energy_j("9|77|2026-11-17T10:00:00|2026-11-17T10:10:00|n1\n"),
              ElementsAre(Pair("9", 77)));
}

TEST(Accounting, WhatNobodyMeteredIsNotThere) {
  EXPECT_THAT(
      accounted_energy_j("1|0|a|b|n1\n1.batch||a|b|n1\n2|18446744073709551614|a|b|n1\n"
                         "3|1.5K|a|b|n1\n4|-3|a|b|n1\n5|12\n\nSlurm accounting storage is disabled\n"),
      IsEmpty());
}

}  // namespace
}  // namespace ampere
