// The parts of the server that need no connection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "serve/access.h"
#include "serve/api.h"
#include "serve/api_words.h"
#include "serve/child.h"
#include "serve/cores.h"
#include "serve/freeze.h"
#include "serve/lru.h"
#include "serve/metrics.h"
#include "serve/push.h"
#include "serve/schema.h"
#include "serve/sha256.h"

namespace ampere {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

std::string sha256_of(const std::string& text) {
  Sha256 digest;
  digest.add(text);
  return digest.hex();
}

TEST(Sha256, AsPublished) {  // FIPS 180-4's examples
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Lru, KeepsWhatWasUsedLast) {
  Lru<int> some(3);
  some.put("a", 1);
  some.put("b", 2);
  some.put("c", 3);
  EXPECT_EQ(*some.find("a"), 1);
  some.put("d", 4);
  EXPECT_EQ(some.find("b"), nullptr);
  EXPECT_NE(some.find("a"), nullptr);
  some.put("large", 5, 100);  // what is larger than all of it stays alone
  EXPECT_EQ(some.size(), 1u);
  EXPECT_EQ(*some.find("large"), 5);
}

TEST(Cores, AreGivenByTheirNumbers) {
  const std::vector<int> allowed = {0, 1, 2, 3, 6};
  EXPECT_THAT(cores_in("2", allowed), ElementsAre(2));
  EXPECT_THAT(cores_in("6,0-2,1", allowed), ElementsAre(0, 1, 2, 6));
  for (const char* bad :
       {"", ",", "a", "-1", "1-", "2-1", "0,", "4", "0-6", "1 ", "0x1", "99999999999", "0-2147483647"})
    EXPECT_THROW(cores_in(bad, allowed), Error) << bad;
}

TEST(Cores, SomeAreLeftToWhatIsMeasured) {
  EXPECT_THAT(cores_to_answer({4, 5, 6, 7}, 1), ElementsAre(4, 5));
  EXPECT_THAT(cores_to_answer({4, 5, 6, 7}, 3), ElementsAre(4));
  EXPECT_THAT(cores_to_answer({0, 1, 2}, 1), ElementsAre(0));
  EXPECT_THAT(cores_to_answer({0, 1}, 1), ElementsAre(0));
  for (const int threads : {2, 100}) EXPECT_THAT(cores_to_answer({0, 1}, threads), IsEmpty());
  EXPECT_THAT(cores_to_answer({0}, 1), IsEmpty());
}

TEST(Http, WholeAddresses) {
  const auto taken = [](const std::string& target) {
    HttpRequest request;
    request.target = target;
    request.headers["host"] = "before";
    take_whole_address(request);
    return std::pair(request.header("host"), request.target);
  };
  EXPECT_THAT(taken("/a?b=http://c/d"), Pair("before", "/a?b=http://c/d"));
  EXPECT_THAT(taken("http://localhost:80/a/b?c"), Pair("localhost:80", "/a/b?c"));
  EXPECT_THAT(taken("HTTPS://[::1]"), Pair("[::1]", "/"));
  EXPECT_THAT(taken("http://evil?/x"), Pair("evil", "/?/x"));
  EXPECT_THAT(taken("http:/x"), Pair("before", "http:/x"));
}

TEST(Http, PathsAndQueries) {
  EXPECT_THAT(*path_parts("/api/v1/a%20b?x=/../"), ElementsAre("api", "v1", "a b"));
  EXPECT_THAT(*path_parts("/"), ElementsAre(""));
  for (const char* bad :
       {"", "a", "/..", "/a/%2e%2e", "/a%2fb", "/a%5cb", "/%00", "/%", "/%g0", "/%c0%ae", "/a/./b"})
    EXPECT_FALSE(path_parts(bad)) << bad;
  EXPECT_THAT(*query_of("/a?x=1&y=a+b%26&z"), ElementsAre(Pair("x", "1"), Pair("y", "a b&"), Pair("z", "")));
  EXPECT_FALSE(query_of("/a?x=%0a"));
}

TEST(Schema, ChecksWhatItDescribes) {
  const Json schema = {{"type", "object"},
                       {"properties",
                        {{"n", {{"type", "integer"}, {"minimum", 1}, {"maximum", 5}}},
                         {"list", {{"type", "array"}, {"items", {{"enum", {"a", "b"}}}}, {"maxItems", 2}}}}},
                       {"required", {"n"}},
                       {"additionalProperties", false}};
  require_schema({{"n", 5}, {"list", {"a", "b"}}}, schema, "x");
  require_schema({{"n", 5.0}}, schema, "x");
  for (const Json& bad :
       {Json::array(), Json({{"n", 6}}), Json({{"n", 1.5}}), Json({{"n", "1"}}), Json({{"m", 1}, {"n", 1}}),
        Json({{"n", 1}, {"list", {"c"}}}), Json({{"n", 1}, {"list", {"a", "a", "a"}}}), Json::object()})
    EXPECT_THROW(require_schema(bad, schema, "x"), Error) << bad;
}

TEST(Access, SecretsAndAddresses) {
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_FALSE(same_secret("abc", "abcd"));
  EXPECT_FALSE(same_secret("", "abcd"));
  EXPECT_TRUE(is_loopback("127.0.0.1"));
  EXPECT_TRUE(is_loopback("::1"));
  EXPECT_FALSE(is_loopback("127.0.0.1.evil.example"));
  EXPECT_FALSE(is_loopback("0.0.0.0"));
}

TEST(Push, Addresses) {
  EXPECT_EQ(push_address("http://h:9091/metrics/job/x/").path, "/metrics/job/x");
  EXPECT_EQ(push_address("http://[::1]:8080").host, "::1");
  EXPECT_EQ(push_address("http://h").port, "80");
  for (const char* bad : {"", "h", "https://h", "http://", "http://:80", "http://h:x", "http://[::1",
                          "http://a@b", "http://h/a b"})
    EXPECT_THROW(push_address(bad), Error) << bad;
}

TEST(Metrics, OldJobsAreForgotten) {
  ServeMetrics metrics;
  for (int i = 0; i < 3000; ++i) metrics.predicted("job" + std::to_string(i), "d", 2, 1, 3);
  EXPECT_EQ(metrics.measured("job2999", "", 4), "d");
  EXPECT_EQ(metrics.measured("job0", "", 4), "unknown");
  MetricsText out;
  metrics.write(out);
  EXPECT_LT(out.text().size(), 300'000u);
  EXPECT_THAT(out.text(), HasSubstr("ampere_estimate_error_ratio{job_name=\"job2999\",device=\"d\"} -0.5\n"));
}

TEST(Child, SaysHowItEnded) {
  const ChildEnd said = run_child({"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, {});
  EXPECT_EQ(said.status, 3);
  EXPECT_EQ(said.output, "out\n");
  EXPECT_EQ(said.errors, "err\n");
  EXPECT_EQ(run_child({"/nothing/there"}, {}).status, 127);
}

TEST(Child, IsEndedByItsLimits) {
  ChildOptions slow;
  slow.most_s = 0.3;
  EXPECT_TRUE(run_child({"/bin/sh", "-c", "sleep 600 & sleep 600"}, slow).late);
  ChildOptions wordy;
  wordy.most_output = 1000;
  EXPECT_TRUE(run_child({"/bin/sh", "-c", "yes"}, wordy).too_much);
  ChildOptions large;
  large.most_file_bytes = 100'000;
  const std::string file = ::testing::TempDir() + "/ampere-child-file";
  EXPECT_NE(run_child({"/bin/sh", "-c", "exec head -c 1000000 /dev/zero > " + file}, large).status, 0);
  EXPECT_LE(std::filesystem::file_size(file), 100'000u);
  std::filesystem::remove(file);
  ChildOptions stopped;
  stopped.stop = [] { return true; };
  EXPECT_TRUE(run_child({"/bin/sh", "-c", "exec sleep 600"}, stopped).stopped);
}

TEST(ApiWords, AreOfRequests) {
  const ApiWords shape = in_api_words("net.pt: say its shape: --input 3x224x224, --input int:128");
  EXPECT_EQ(shape.text, "net.pt: say its shape: input 3x224x224, input int:128");
  EXPECT_THAT(shape.fields, ElementsAre("input"));
  EXPECT_EQ(in_api_words("/home/me/a.db: no store; name another with --store").text, "a.db: no store");
  EXPECT_EQ(in_api_words("not known; run: ampere profile lenet5 --batch 3").text,
            "not known; POST /api/v1/jobs");
  EXPECT_EQ(in_api_words("first\n--multiple-of must be 1, or").text, "first\nmultiple_of must be 1");
  EXPECT_EQ(in_api_words("price: 0.30EUR/kWh, see /api/v1/devices").text,
            "price: 0.30EUR/kWh, see /api/v1/devices");
  EXPECT_EQ(in_api_words("").text, "");
}

TEST(Freeze, PutsEverythingIntoOneFile) {
  const std::string script = bundled("app.js");  // throws for imports that it does not know
  EXPECT_EQ(script.find("\nimport "), std::string::npos);
  EXPECT_EQ(script.find("\nexport "), std::string::npos);
  EXPECT_THAT(script, HasSubstr("const {html, render, ampere"));
  const std::string page = frozen_page({{"title", "</title><script>"}, {"asked", "</script>"}});
  EXPECT_THAT(page, HasSubstr("<title>&lt;/title&gt;&lt;script&gt;</title>"));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>"));
  EXPECT_EQ(page.find("src=\"/assets"), std::string::npos);
  EXPECT_EQ(page.find("href=\"/assets"), std::string::npos);
}

TEST(Api, DescribesEveryRouteOnce) {
  const Json described = openapi();
  std::size_t count = 0;
  for (const auto& [path, methods] : described["paths"].items()) count += methods.size();
  EXPECT_EQ(count, api_routes().size());
  for (const ApiRoute& route : api_routes()) {
    if (!route.told.empty()) {
      EXPECT_TRUE(described["components"]["schemas"].contains(route.told)) << route.path;
    }
  }
}

}  // namespace
}  // namespace ampere
