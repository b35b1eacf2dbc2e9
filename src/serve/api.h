// What the server answers, apart from how requests come: one table of routes that also checks requests and
// describes itself as OpenAPI.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "serve/estimator.h"
#include "serve/http.h"
#include "serve/jobs.h"
#include "serve/metrics.h"
#include "serve/networks.h"
#include "serve/options.h"

namespace ampere {

class Api;

// A request whose route is known, and whose parts were checked by it.
struct ApiCall {
  const HttpRequest& request;
  std::vector<std::string> names;  // what stands for {...} in the path
  std::vector<std::pair<std::string, std::string>> query;
  Json body;  // of requests in JSON
};

struct ApiRoute {
  std::string method;
  std::string path;  // "/api/v1/jobs/{id}/stop"
  std::string summary;
  Json body = {};     // schema; null: the request has none
  bool file = false;  // the request is a file
  Json query = {};    // schemas by name
  std::string answer = "application/json";
  int status = 200;       // of success
  bool slow = false;      // waits for a process of its own
  bool changes = false;   // the store, or what runs: not in read-only mode
  std::string told = {};  // what it answers in docs/answers.schema.json; empty: no JSON
  std::function<HttpResponse(Api&, const ApiCall&)> call = {};
};
const std::vector<ApiRoute>& api_routes();
Json openapi();

// All members may be called by several threads.
class Api {
 public:
  // Makes the folders that it keeps things in. Throws Error.
  explicit Api(const ServeOptions& options);
  ~Api();

  // Null where no route is of that path; `allowed` then has the methods that others of the path take.
  static const ApiRoute* route(const HttpRequest& request, std::string* allowed = nullptr);
  // Never throws, but MustWait where the request may not.
  HttpResponse answer(const HttpRequest& request);

  const ServeOptions& options() const { return options_; }
  Networks& networks() { return networks_; }
  Estimator& estimator() { return estimator_; }
  ServeJobs& jobs() { return jobs_; }
  ServeMetrics& metrics() { return metrics_; }

 private:
  // Removed at the end where nobody named one.
  struct StateFolder {
    std::string path;
    bool ours = false;
    int lock = -1;  // held while this server runs: another one's files would be taken for leftovers
    explicit StateFolder(const ServeOptions& options);
    ~StateFolder();
  };
  HttpResponse answered(const HttpRequest& request);

  const ServeOptions options_;
  StateFolder state_;
  Networks networks_;
  Estimator estimator_;
  ServeMetrics metrics_;
  ServeJobs jobs_;
};

// The routes' answers (api_answers.cc).
HttpResponse answer_status(Api& api, const ApiCall& call);
HttpResponse answer_models(Api& api, const ApiCall& call);
HttpResponse answer_devices(Api& api, const ApiCall& call);
HttpResponse answer_knowledge(Api& api, const ApiCall& call);
HttpResponse answer_store(Api& api, const ApiCall& call);
HttpResponse answer_upload(Api& api, const ApiCall& call);
HttpResponse answer_network(Api& api, const ApiCall& call);
HttpResponse answer_network_file(Api& api, const ApiCall& call);
HttpResponse answer_estimate(Api& api, const ApiCall& call);
HttpResponse answer_layers(Api& api, const ApiCall& call);
HttpResponse answer_prune(Api& api, const ApiCall& call);
HttpResponse answer_tune(Api& api, const ApiCall& call);
HttpResponse answer_schedule(Api& api, const ApiCall& call);
HttpResponse answer_report(Api& api, const ApiCall& call);  // api_report.cc
HttpResponse answer_measured(Api& api, const ApiCall& call);
HttpResponse answer_new_job(Api& api, const ApiCall& call);
HttpResponse answer_metrics(Api& api, const ApiCall& call);

}  // namespace ampere
