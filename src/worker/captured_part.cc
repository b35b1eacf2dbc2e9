#include "worker/captured_part.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "worker/boxed_call.h"

namespace ampere::worker {
namespace {

constexpr std::size_t kMostTensors = 100000, kMostCalls = 50000;
constexpr int kMostCopies = 24;
constexpr double kShareOfMemory = 0.4;

// What is known of one tensor.
struct Info {
  std::vector<std::int64_t> sizes, strides;
  c10::ScalarType type = c10::kFloat;
  std::string from, until, after;
  std::int64_t low = 0, high = 1;
  std::int64_t bytes = 0;

  bool made_here() const { return from.empty(); }
  bool from_neighbour() const { return from == "activation" || from == "gradient"; }
};

Info info_from_json(const Json& json, const std::string& where) {
  const JsonReader r(json, where);
  r.only({"sizes", "strides", "dtype", "from", "until", "values", "after"});
  Info info;
  info.sizes = r.integers("sizes");
  info.strides = r.integers("strides");
  info.type = scalar_type(r.text("dtype"));
  info.from = r.text("from", "");
  info.until = r.text("until", "");
  info.after = r.text("after", "");
  if (r.has("values")) {
    const std::vector<std::int64_t> values = r.integers("values");
    if (values.size() != 2 || values[0] > values[1])
      throw bad_input(where + ": values are a smallest and a largest");
    info.low = values[0];
    info.high = std::min(values[1], INT64_MAX - 1);
  }
  if (info.sizes.size() != info.strides.size() || info.sizes.size() > 16)
    throw bad_input(where + ": as many strides as sizes, 16 at most");
  double spread = 1;
  for (std::size_t i = 0; i < info.sizes.size(); ++i) {
    if (info.sizes[i] < 0 || info.strides[i] < 0) throw bad_input(where + ": a size or stride below zero");
    spread += std::max(0.0, static_cast<double>(info.sizes[i]) - 1) * static_cast<double>(info.strides[i]);
  }
  const bool empty = std::count(info.sizes.begin(), info.sizes.end(), 0) > 0;
  const double bytes = empty ? 0 : spread * static_cast<double>(c10::elementSize(info.type));
  if (!(bytes < 1e13)) throw bad_input(where + ": a tensor of more than 10 TB");
  info.bytes = static_cast<std::int64_t>(bytes);
  return info;
}

// Random values of the right sort, laid out in memory as in the network.
torch::Tensor make_tensor(const Info& info, c10::Device place) {
  if (info.from == "host") return torch::ones(info.sizes, torch::TensorOptions().dtype(info.type));
  const auto count = info.bytes / static_cast<std::int64_t>(c10::elementSize(info.type));
  torch::Tensor memory = torch::empty({count}, torch::TensorOptions().dtype(info.type).device(place));
  if (info.type == c10::kBool) {
    memory.bernoulli_(0.9);
  } else if (!c10::isFloatingType(info.type)) {
    if (info.after == "cumsum")  // of as much for each
      memory.copy_((torch::arange(1, count + 1) * info.high)
                       .div(std::max<std::int64_t>(1, count), /*rounding_mode=*/"floor"));
    else if (info.after == "sort")  // each place once
      memory.copy_(torch::randperm(count));
    else if (info.high > info.low)
      memory.random_(info.low, info.high + 1);
    else
      memory.fill_(info.low);
  } else if (info.from == "buffer" || (info.from == "parameter" && info.sizes.size() < 2)) {
    memory.uniform_(0.5, 1.5);
  } else if (info.from == "state") {
    memory.uniform_(0, 1e-3);
  } else {
    memory.normal_(0, info.from == "parameter" ? 0.02 : info.from == "gradient" ? 1e-3 : 1.0);
    if (info.after == "relu") memory.relu_();
    if (info.after == "gelu") memory.copy_(torch::gelu(memory));
    if (info.after == "silu") memory.copy_(torch::silu(memory));
    if (info.after == "sigmoid") memory.sigmoid_();
    if (info.after == "tanh") memory.tanh_();
  }
  return memory.as_strided(info.sizes, info.strides);
}

// The tensors of one copy, as its forward and its backward calls find them.
struct Copy {
  Values forward, backward;
  std::map<int, Graph> graphs;
};

}  // namespace

struct CapturedPart::State {
  c10::Device place;
  std::vector<Info> tensors;
  std::vector<BoxedCall> forward, backward, update;
  std::vector<Copy> copies;

  explicit State(c10::Device p) : place(p) {}

  void read(const Json& json);
  void read_calls(const JsonReader& r, const char* pass, std::vector<BoxedCall>& calls);
  void find_ends(std::vector<BoxedCall>& calls, const std::set<int>& read_later);
  void make_copies(std::int64_t footprint, std::int64_t free_bytes);
};

void CapturedPart::State::read_calls(const JsonReader& r, const char* pass, std::vector<BoxedCall>& calls) {
  if (!r.has(pass)) return;
  for (const Json& json : r.array(pass)) {
    const std::string where = std::string("calls: ") + pass + " " + std::to_string(calls.size());
    calls.push_back(boxed_call_from_json(json, static_cast<int>(calls.size()), tensors.size(), where));
    if (calls.size() > kMostCalls) throw bad_input("calls: more than " + std::to_string(kMostCalls));
    require_known(calls.back());
  }
}

// What is not kept is let go right after its last use, as in the network, so that its memory is used again.
void CapturedPart::State::find_ends(std::vector<BoxedCall>& calls, const std::set<int>& read_later) {
  std::map<int, std::size_t> last;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    for (const int n : tensors_read(calls[i])) last[n] = i;
    for (const int n : calls[i].out) {
      if (n >= 0) last[n] = i;
    }
  }
  for (const auto& [number, place_of] : last) {
    const Info& info = tensors[static_cast<std::size_t>(number)];
    if (info.made_here() && info.until.empty() && read_later.count(number) == 0)
      calls[place_of].done.push_back(number);
  }
}

void CapturedPart::State::read(const Json& json) {
  const JsonReader r(json, "calls");
  // Its calls could be made one by one, but that is not what the compiled step costs.
  if (r.has("compiled"))
    throw bad_input(
        "calls: a region for torch.compile, which this worker has not; use python -m ampere.worker");
  r.only({"tensors", "footprint", "forward", "backward", "update"});
  const Json& listed = r.array("tensors");
  if (listed.size() > kMostTensors)
    throw bad_input("calls: more than " + std::to_string(kMostTensors) + " tensors");
  for (const Json& t : listed)
    tensors.push_back(info_from_json(t, "calls: tensor " + std::to_string(tensors.size())));
  read_calls(r, "forward", forward);
  read_calls(r, "backward", backward);
  read_calls(r, "update", update);
  std::set<int> read_later;
  for (const BoxedCall& call : backward) {
    if (call.gradient_of >= static_cast<int>(forward.size())) throw bad_input("calls: a gradient of no call");
    for (const int n : tensors_read(call)) read_later.insert(n);
  }
  find_ends(forward, read_later);
  find_ends(backward, {});
}

void CapturedPart::State::make_copies(std::int64_t footprint, std::int64_t free_bytes) {
  std::int64_t bytes = 1;
  for (const Info& info : tensors) {
    if (!info.made_here() || !info.until.empty()) bytes += info.bytes;
  }
  const double wanted =
      static_cast<double>(std::min(2 * kUsualCacheBytes, footprint)) / static_cast<double>(bytes);
  const double fitting = kShareOfMemory * static_cast<double>(free_bytes) / static_cast<double>(bytes);
  if (fitting < 1)
    throw Error(ErrorKind::kOutOfMemory,
                "a part needs about " + std::to_string(bytes >> 20) + " MiB of memory");
  const int count =
      static_cast<int>(std::clamp(std::ceil(std::min(wanted, fitting)), 1.0, double{kMostCopies}));
  Values shared(tensors.size());
  for (int i = 0; i < count; ++i) {
    Copy copy{Values(tensors.size()), Values(tensors.size()), {}};
    for (std::size_t n = 0; n < tensors.size(); ++n) {
      if (tensors[n].made_here()) continue;
      if (!tensors[n].from_neighbour()) {
        copy.forward[n] = copy.backward[n] = make_tensor(tensors[n], place);
        continue;
      }
      // Neighbours have just written it; what was saved of it is the copy's own.
      if (!shared[n].defined()) shared[n] = make_tensor(tensors[n], place);
      copy.forward[n] = shared[n];
      copy.backward[n] =
          tensors[n].from == "activation" && !backward.empty() ? make_tensor(tensors[n], place) : shared[n];
    }
    copies.push_back(std::move(copy));
  }
}

CapturedPart::CapturedPart(const std::string& calls, c10::Device place, std::int64_t free_bytes)
    : state_(std::make_unique<State>(place)) {
  const Json json = parse_json(calls, "calls");
  try {
    state_->read(json);
  } catch (const Json::exception&) {
    throw bad_input("calls: what should be a number is none");
  }
  const JsonReader r(json, "calls");
  state_->make_copies(r.integer_between("footprint", 1, 1, INT64_MAX), free_bytes);
}

CapturedPart::~CapturedPart() = default;

int CapturedPart::copies() const { return static_cast<int>(state_->copies.size()); }

void CapturedPart::run() {
  State& s = *state_;
  const at::AutoGradMode no_gradient(false);
  for (Copy& copy : s.copies) {
    Values values = copy.forward;
    for (const BoxedCall& call : s.forward) ampere::worker::run(call, values, copy.graphs, s.place);
    for (std::size_t n = 0; n < values.size(); ++n) {
      if (s.tensors[n].made_here()) copy.backward[n] = values[n];
    }
  }
  std::vector<torch::Tensor> waiting;  // gradients of weights, for the optimizer
  for (auto copy = s.copies.rbegin(); copy != s.copies.rend(); ++copy) {
    Values values = copy->backward;
    for (std::size_t n = 0; n < values.size(); ++n) {
      if (s.tensors[n].made_here()) copy->backward[n] = torch::Tensor();
    }
    for (const BoxedCall& call : s.backward) ampere::worker::run(call, values, copy->graphs, s.place);
    for (std::size_t n = 0; n < values.size(); ++n) {
      if (s.tensors[n].until == "update") waiting.push_back(values[n]);
    }
  }
  for (Copy& copy : s.copies) {
    Values values = copy.forward;
    for (const BoxedCall& call : s.update) ampere::worker::run(call, values, copy.graphs, s.place);
  }
}

}  // namespace ampere::worker
