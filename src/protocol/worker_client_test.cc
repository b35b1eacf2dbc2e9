#include "protocol/worker_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "base/error.h"
#include "protocol/process.h"

namespace ampere {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

constexpr double kAmple = 60;  // no test waits for it
constexpr double kShort = 0.3;

WorkerOptions fake(const std::string& mode) {
  WorkerOptions options;
  options.command = "exec " + shell_quoted(AMPERE_FAKE_WORKER) + " " + mode;
  return options;
}

MeasureRequest small_request() {
  MeasureRequest request;
  request.network.set_name("tiny");
  request.network.add(Op::kInput, {}, {{"shape", std::vector<std::int64_t>{8}}});
  request.network.add(Op::kLinear, {0}, {{"out_features", std::int64_t{4}}});
  request.batch = 2;
  return request;
}

struct Failure {
  ErrorKind kind = ErrorKind::kFailed;
  std::string message = "nothing was thrown";
};

template <class Call>
Failure failure_of(Call call) {
  try {
    call();
  } catch (const Error& e) {
    return {e.kind(), e.what()};
  }
  return {};
}

TEST(WorkerClient, AnswersComeBack) {
  WorkerClient worker(fake("ok"));
  EXPECT_EQ(worker.detect(), Json::object());
  EXPECT_DOUBLE_EQ(worker.idle(0.1, "").at("power_w").get<double>(), 5);
  const Measurement once = worker.measure(small_request());
  EXPECT_GT(once.energy_j.value(), 0);
  EXPECT_EQ(once.mode, "eager");
  EXPECT_EQ(worker.measure(small_request()).energy_j, once.energy_j);
}

std::vector<Json> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<Json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(parse_json(line, path));
  return lines;
}

TEST(WorkerClient, KeepsTheConversationWhereAsked) {
  const std::string path = testing::TempDir() + "ampere_recording.jsonl";
  std::remove(path.c_str());
  WorkerOptions options = fake("ok");
  options.record = path;
  const Measurement measured = WorkerClient(options).measure(small_request());
  options = fake("error");
  options.record = path;
  EXPECT_THROW(WorkerClient(options).measure(small_request()), Error);
  const std::vector<Json> lines = lines_of(path);
  ASSERT_EQ(lines.size(), 4U);  // hello and measure, twice
  EXPECT_EQ(lines[1].at("request"), Json({{"verb", "measure"}, {"params", to_json(small_request())}}));
  EXPECT_EQ(measurement_from_json(lines[1].at("result")).energy_j, measured.energy_j);
  EXPECT_EQ(lines[3].at("request"), lines[1].at("request"));
  EXPECT_EQ(lines[3].at("error").at("kind"), "out_of_memory");
  options.record = "/nowhere/log";
  EXPECT_THAT(failure_of([&] { WorkerClient client(options); }).message, HasSubstr("AMPERE_RECORD"));
}

TEST(WorkerClient, TakesItsTimeAndMayTalkToStandardError) {
  EXPECT_GT(WorkerClient(fake("slow")).measure(small_request()).time_s, 0);
  std::size_t heard = 0;
  WorkerOptions options = fake("noisy");
  options.on_stderr = [&](std::string_view text) { heard += text.size(); };
  WorkerClient noisy(options);
  noisy.detect();
  EXPECT_GT(heard, 1u << 20);
}

struct Fault {
  const char* mode;
  std::vector<std::string> says;
};

class WorkerFaults : public testing::TestWithParam<Fault> {};

TEST_P(WorkerFaults, GiveOneClearMessageAndEndTheWorker) {
  WorkerOptions options = fake(GetParam().mode);
  options.measure_margin = std::string(GetParam().mode) == "huge" ? kAmple : kShort;
  options.max_failures = 100;
  WorkerClient worker(options);
  MeasureRequest request = small_request();
  request.budget_s = request.warm_up_s = 0.01;
  for (int attempt = 0; attempt < 2; ++attempt) {  // the second one starts it anew
    const Failure failure = failure_of([&] { worker.measure(request); });
    EXPECT_EQ(failure.kind, ErrorKind::kWorker) << failure.message;
    for (const std::string& part : GetParam().says) EXPECT_THAT(failure.message, HasSubstr(part));
    EXPECT_THAT(failure.message, HasSubstr(options.command));
    EXPECT_THAT(failure.message, Not(HasSubstr("\n")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, WorkerFaults,
    testing::Values(Fault{"dies-at-start", {"exit status 7", "say hello", "no device", "by hand"}},
                    Fault{"newer", {"speaks protocol 2", "this ampere speaks 1", "update ampere"}},
                    Fault{"older", {"speaks protocol 0", "update the worker"}},
                    Fault{"refuses", {"say hello", "no licence"}},
                    Fault{"dies",
                          {"died (exit status 3)", "measure tiny at batch 2", "the device is on fire"}},
                    Fault{"killed", {"signal 9", "measure tiny", "memory"}},
                    Fault{"hangs", {"did not answer within 0.32 s", "measure tiny"}},
                    Fault{"chatters", {"did not answer within 0.32 s", "still thinking"}},
                    Fault{"garbage", {"nonsense", "Loading libraries", "docs/protocol.md"}},
                    Fault{"list", {"nonsense", "[1, 2]", "JSON object"}},
                    Fault{"no-result", {"nonsense", "\"result\" is missing"}},
                    Fault{"no-figures", {"nonsense", "\"time_s\" is missing"}},
                    Fault{"negative", {"nonsense", "cannot be -1 J"}},
                    Fault{"wrong-id", {"nonsense", "it has the id 10"}},
                    Fault{"closes", {"closed its standard output", "measure tiny"}},
                    Fault{"huge", {"more than 64 MiB"}}),
    [](const auto& row) {
      std::string name = row.param.mode;
      std::erase(name, '-');
      return name;
    });

TEST(WorkerClient, AnErrorItReportsKeepsItsKindAndTheWorker) {
  WorkerClient worker(fake("error"));
  const Failure failure = failure_of([&] { worker.measure(small_request()); });
  EXPECT_EQ(failure.kind, ErrorKind::kOutOfMemory);
  EXPECT_EQ(failure.message, "the worker says: does not fit");
  EXPECT_GT(worker.measure(small_request()).time_s, 0);  // the same process: a new one would fail again
}

TEST(WorkerClient, GivesUpAfterFailuresInARow) {
  WorkerOptions options = fake("dies");
  options.max_failures = 2;
  WorkerClient worker(options);
  EXPECT_THAT(failure_of([&] { worker.detect(); }).message, Not(HasSubstr("given up")));
  EXPECT_FALSE(worker.gave_up());
  EXPECT_THAT(failure_of([&] { worker.detect(); }).message,
              HasSubstr("failed 2 times in a row and is given up"));
  EXPECT_TRUE(worker.gave_up());
  const Failure last = failure_of([&] { worker.detect(); });
  EXPECT_EQ(last.kind, ErrorKind::kWorker);
  EXPECT_THAT(last.message, HasSubstr("not started again"));
}

TEST(WorkerClient, FiguresThatCannotBeTrueCountAsFailures) {
  WorkerOptions options = fake("negative");
  options.max_failures = 2;
  WorkerClient worker(options);
  failure_of([&] { worker.measure(small_request()); });
  failure_of([&] { worker.measure(small_request()); });
  EXPECT_TRUE(worker.gave_up());
}

TEST(WorkerClient, SaysSoWhenTheCommandIsNotThere) {
  WorkerOptions options;
  options.command = "exec /nowhere/ampere-worker";
  WorkerClient worker(options);
  const Failure failure = failure_of([&] { worker.detect(); });
  EXPECT_EQ(failure.kind, ErrorKind::kWorker);
  EXPECT_THAT(failure.message, HasSubstr("cannot be run (exit status 127)"));
  EXPECT_THAT(failure.message, HasSubstr("--worker or AMPERE_WORKER"));
}

TEST(WorkerClient, AHugeRequestReachesItOrFailsCleanly) {
  WorkerClient worker(fake("hangs"));
  const Json params = {{"text", std::string(1 << 20, 'x')}};
  EXPECT_THAT(failure_of([&] { worker.call("detect", params, kShort); }).message,
              HasSubstr("did not answer"));
  WorkerClient reader(fake("ok"));
  EXPECT_EQ(reader.call("detect", params, kAmple), Json::object());
}

// A worker whose n-th start is the n-th of these commands; the last one stays.
WorkerOptions starting_as(const std::vector<std::string>& commands, std::vector<std::string>* notices) {
  const std::string count = testing::TempDir() + "ampere_starts";
  std::remove(count.c_str());
  WorkerOptions options;
  options.command = "n=$(cat " + shell_quoted(count) + " 2>/dev/null || echo 0); echo $((n + 1)) > " +
                    shell_quoted(count) + "; case $n in ";
  for (std::size_t i = 0; i < commands.size(); ++i) {
    options.command += i + 1 < commands.size() ? std::to_string(i) : "*";
    options.command += ") " + commands[i] + " ;; ";
  }
  options.command += "esac";
  options.reconnect_seconds = kAmple;
  options.first_pause_s = 0.01;
  options.on_notice = [notices](const std::string& text) { notices->push_back(text); };
  return options;
}

const std::string kWell = shell_quoted(AMPERE_FAKE_WORKER) + " ok";
const std::string kDies = shell_quoted(AMPERE_FAKE_WORKER) + " dies";
const std::string kBreaks = kDies + "; exit 255";  // in the middle, as an ssh whose connection does
const std::string kAway = "echo no route >&2; exit 255";

TEST(Reconnecting, AWorkerThatWasLostIsWaitedForAndAskedAgain) {
  for (const std::string& first : {kBreaks, kDies}) {
    std::vector<std::string> notices;
    WorkerClient worker(starting_as({first, kAway, kAway, kWell}, &notices));
    EXPECT_GT(worker.measure(small_request()).time_s, 0);
    ASSERT_EQ(notices.size(), 2U);
    EXPECT_THAT(notices[0], HasSubstr("when asked to measure tiny"));
    EXPECT_THAT(notices[0], HasSubstr("trying to reach it for up to 60 s"));
    EXPECT_THAT(notices[1], HasSubstr("is back after"));
  }
}

TEST(Reconnecting, AConnectionThatIsThereAgainAtOnceIsAskedAgain) {
  std::vector<std::string> notices;
  WorkerClient worker(starting_as({kBreaks, kWell}, &notices));
  EXPECT_GT(worker.measure(small_request()).time_s, 0);
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_THAT(notices[0], HasSubstr("cannot be reached (exit status 255"));
  EXPECT_THAT(notices[0], HasSubstr("asked once more"));
}

TEST(Reconnecting, AWorkerThatDiesOfItsTaskIsNot) {
  std::vector<std::string> notices;
  WorkerClient worker(starting_as({kDies, kWell}, &notices));
  EXPECT_THAT(failure_of([&] { worker.measure(small_request()); }).message,
              HasSubstr("died (exit status 3)"));
  EXPECT_TRUE(notices.empty());
  EXPECT_GT(worker.measure(small_request()).time_s, 0);
}

TEST(Reconnecting, EndsWithTheTimeForItAndIsNotTriedAgain) {
  std::vector<std::string> notices;
  WorkerOptions options = starting_as({kBreaks, kAway}, &notices);
  options.reconnect_seconds = 0.1;
  WorkerClient worker(options);
  const Failure failure = failure_of([&] { worker.measure(small_request()); });
  EXPECT_EQ(failure.kind, ErrorKind::kWorker);
  EXPECT_THAT(failure.message, HasSubstr("no route"));
  EXPECT_THAT(failure.message, HasSubstr("away for as long as it is waited for (0.1 s)"));
  EXPECT_TRUE(worker.gave_up());
  EXPECT_EQ(failure_of([&] { worker.detect(); }).message, failure.message);
}

TEST(Reconnecting, ATaskThatBreaksEveryConnectionIsGivenUp) {
  std::vector<std::string> notices;
  WorkerClient worker(starting_as({kBreaks}, &notices));
  EXPECT_THAT(failure_of([&] { worker.measure(small_request()); }).message,
              HasSubstr("failed 3 times in a row and is given up"));
}

TEST(Reconnecting, AWorkerThatWasNeverThereIsNotWaitedFor) {
  std::vector<std::string> notices;
  WorkerClient worker(starting_as({kAway, kWell}, &notices));
  EXPECT_THAT(failure_of([&] { worker.detect(); }).message, HasSubstr("no route"));
  EXPECT_TRUE(notices.empty());
}

TEST(Reconnecting, AnotherDeviceIsAskedForNothing) {
  std::vector<std::string> notices;
  WorkerClient worker(starting_as({kBreaks, kWell}, &notices));
  int checked = 0;
  worker.when_restarted([&](const Json&) {
    ++checked;
    throw Error(ErrorKind::kFailed, "another one");
  });
  const Failure failure = failure_of([&] { worker.measure(small_request()); });
  EXPECT_EQ(failure.kind, ErrorKind::kFailed);
  EXPECT_EQ(failure.message, "another one");
  EXPECT_EQ(checked, 1);
}

TEST(DefaultWorkerCommand, IsTheVariableThenThePath) {
  setenv("AMPERE_WORKER", "ssh jetson ampere-worker", 1);
  EXPECT_EQ(default_worker_command(), "ssh jetson ampere-worker");
  unsetenv("AMPERE_WORKER");
  EXPECT_THAT(default_worker_command(), MatchesRegex("exec .*ampere-worker'?"));
}

TEST(Process, QuotedTextSurvivesTheShell) {
  const std::string odd = "a b'c\"d$HOME `x` \\ ; &";
  Process echo("printf '%s\\n' " + shell_quoted(odd));
  std::string line;
  ASSERT_EQ(echo.read_line(&line, Process::Clock::now() + std::chrono::seconds(60)), Process::Outcome::kLine);
  EXPECT_EQ(line, odd);
  EXPECT_EQ(echo.end(std::chrono::seconds(60)).text(), "exit status 0");
}

TEST(Process, WhatTheChildStartedEndsWithIt) {
  // The shell leaves a child behind; its number comes back on the first line.
  Process parent("sleep 1000 & echo $!; exit 0");
  std::string line;
  ASSERT_EQ(parent.read_line(&line, Process::Clock::now() + std::chrono::seconds(60)),
            Process::Outcome::kLine);
  EXPECT_FALSE(parent.end(std::chrono::seconds(60)).running);
  // The orphan holds the pipe to us until it is gone.
  EXPECT_EQ(parent.read_line(&line, Process::Clock::now() + std::chrono::seconds(60)),
            Process::Outcome::kEnd);
}

TEST(Process, WritingToADeadChildIsNoSignal) {
  Process child("exit 0");
  std::string line;
  ASSERT_EQ(child.read_line(&line, Process::Clock::now() + std::chrono::seconds(60)), Process::Outcome::kEnd);
  // Its end of the pipe goes a moment after its output does.
  const auto deadline = Process::Clock::now() + std::chrono::seconds(60);
  while (child.write_line("hello", deadline)) ASSERT_LT(Process::Clock::now(), deadline);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

}  // namespace
}  // namespace ampere
