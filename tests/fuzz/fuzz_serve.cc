// Requests as they come over a connection: read, checked and answered, or refused.
#include <filesystem>

#include "mutate.h"
#include "serve/api.h"
#include "serve/server.h"
#include "store_for_fuzz.h"

namespace ampere::fuzz {
namespace {

std::string post(const std::string& path, const std::string& body) {
  return "POST /api/v1/" + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string get(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nOrigin: http://127.0.0.1:8080\r\n\r\n";
}

const std::vector<std::pair<std::string, std::string>> kBodies = {
    {"estimate",
     R"({"network":{"zoo":"lenet5:c1=4"},"batch":8,"samples":1000,"epochs":2,"price":"0.3EUR/kWh","carbon":"FR",)"
     R"("devices":["","sheet:h100"],"dims":{"c2":4},"power_limit_w":300,"battery":"15Wh","risk":"5%","job":"a"})"},
    {"layers", R"({"network":{"zoo":"har"},"batch":3})"},
    {"measured", R"({"job":"a","energy_j":12.5,"device":"b"})"},
    {"prune", R"({"network":{"zoo":"lenet5"},"budget":"50%","keep":["conv1"]})"},
    {"schedule", R"({"devices":[{"name":"a"}],"jobs":[{"name":"b","network":"lenet5","samples":10}]})"}};

std::vector<std::string> requests() {
  std::vector<std::string> all;
  for (const auto& [path, body] : kBodies) all.push_back(post(path, body));
  for (const char* path : {"/", "/metrics", "/api/v1/openapi.json", "/api/v1/devices",
                           "/api/v1/networks/0123456789abcdef0123456789abcdef/file", "/api/v1/jobs/1/events",
                           "/api/v1/devices/a/knowledge?precision=bf16", "/assets/%41%2e%2E"})
    all.push_back(get(path));
  all.push_back(
      "POST /api/v1/layers HTTP/1.1\r\nhost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n1d\r\n{\"network\":{\"zoo\":\"lenet5\"}}\r\n0\r\n\r\n");
  return all;
}

// A whole request with a body that is spoiled, or a request that is spoiled itself.
std::string made(Random& random, const std::vector<std::string>& seeds) {
  if (random.one_in(2)) {
    const auto& [path, body] = random.of(kBodies);
    return post(path, spoiled_json(random, {body}));
  }
  std::string bytes = random.of(seeds);
  spoil_bytes(random, bytes, random.of(seeds));
  return bytes;
}

bool answered(Api& api, const std::string& bytes) {
  const HttpResponse response = answer_bytes(api, bytes);
  if (response.status == 500) throw Wrong{"something went wrong that nobody foresaw: " + response.body};
  if (response.status >= 400) {
    const Json problem = Json::parse(response.body, nullptr, false);
    if (!problem.is_object() || !problem.contains("detail")) throw Wrong{"a problem without words"};
    takes([&] { throw Error(ErrorKind::kBadInput, problem["detail"]); });
  }
  for (const auto& [name, value] : response.headers) {
    if ((name + value).find_first_of("\r\n") != std::string::npos) throw Wrong{"a header of two lines"};
  }
  return response.status < 400;
}

}  // namespace
}  // namespace ampere::fuzz

int main(int argc, char** argv) {
  using namespace ampere;
  const std::string store = fuzz::scratch_path("serve-store");
  fuzz::make_store(store, false);
  int status = 0;
  {
    ServeOptions options;
    options.store = store;
    options.read_only = true;  // and no program: nothing is started
    options.limits.body_bytes = 64 << 10;
    const std::vector<std::string> seeds = fuzz::requests();
    std::unique_ptr<Api> api;
    status = fuzz::fuzz_main(argc, argv,
                             {"serve",
                              {fuzz::get("/api/v1/status"), fuzz::post("layers", fuzz::kBodies[1].second)},
                              [&](fuzz::Random& random) { return fuzz::made(random, seeds); },
                              [&](const std::string& input) {
                                if (!api) api = std::make_unique<Api>(options);
                                return fuzz::answered(*api, input);
                              }});
  }
  std::filesystem::remove(store);
  return status;
}
