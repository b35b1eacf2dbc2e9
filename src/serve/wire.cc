// One thread reads and writes all connections, so that thousands of idle or slow ones cost no threads; others
// compute. Nothing else includes the HTTP library.
#include <sys/resource.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>

#include "base/capped.h"
#include "base/plain_text.h"
#include "serve/access.h"
#include "serve/api.h"
#include "serve/server.h"
#include "store/store.h"

namespace ampere {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using WireClock = std::chrono::steady_clock;

WireClock::duration seconds_of(double s) {
  return std::chrono::duration_cast<WireClock::duration>(std::chrono::duration<double>(s));
}

template <class Fields>
HttpRequest request_of(const http::request_header<Fields>& header) {
  HttpRequest request;
  request.method = std::string(header.method_string());
  request.target = std::string(header.target());
  for (const auto& field : header) {
    std::string name(field.name_string());
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::string& value = request.headers[name];
    value += (value.empty() ? "" : ", ") + std::string(field.value());
  }
  return request;
}

// This thread gives way to what is being measured: profiling runs at the usual priority. Linux has one for
// each thread, and those that it starts begin with it.
void give_way() {
  constexpr int kNiceness = 5;
  thread_local bool done = false;
  if (!done && getpriority(PRIO_PROCESS, 0) < kNiceness) setpriority(PRIO_PROCESS, 0, kNiceness);
  done = true;
}

class Connection;

// What all connections share.
struct Wire {
  Wire(const ServeOptions& o, const ServeEvents& e)
      : events(e), api(with_ending(o)), options(api.options()), computing(threads()), waiting(children()) {}

  std::size_t threads() const { return std::max(4u, std::thread::hardware_concurrency()); }
  std::size_t children() const { return static_cast<std::size_t>(std::max(1, options.limits.children)); }
  ServeOptions with_ending(ServeOptions o) {
    o.ending = &ending;
    return o;
  }

  const ServeEvents& events;
  std::atomic<bool> ending{false};
  Api api;
  const ServeOptions& options;
  std::atomic<int> queued{0}, queued_to_wait{0};
  int uploads = 0;
  int feeds = 0;
  std::set<Connection*> connections;  // touched by the one thread alone
  // After all that connections touch: those that are left end with it.
  asio::io_context io{1};
  asio::thread_pool computing;
  asio::thread_pool waiting;  // for processes
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Wire& wire)
      : wire_(wire),
        limits_(wire.options.limits),
        stream_(std::move(socket)),
        buffer_(static_cast<std::size_t>(limits_.header_bytes) + (64 << 10)) {
    wire_.connections.insert(this);
    boost::system::error_code none;
    const auto peer = stream_.socket().remote_endpoint(none);
    peer_ = peer.address().to_string(none);
    stream_.socket().set_option(tcp::no_delay(true), none);
  }
  ~Connection() {
    wire_.connections.erase(this);
    let_go();
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start() { await_request(limits_.header_s); }

  // Whether nothing would be lost by closing it, and since when it has been so.
  bool is_idle() const { return idle_; }
  WireClock::time_point idle_since() const { return since_; }
  void close() {
    boost::system::error_code none;
    stream_.socket().shutdown(tcp::socket::shutdown_both, none);
    stream_.close();
  }

 private:
  using TextParser = http::request_parser<http::string_body>;
  using FileParser = http::request_parser<http::file_body>;

  void be_idle(bool idle) {
    idle_ = idle;
    since_ = WireClock::now();
  }

  void await_request(double most_s) {
    be_idle(true);
    header_.emplace();
    header_->header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
    header_->body_limit(limits_.upload_bytes);
    text_.reset();
    file_.reset();
    if (buffer_.size() > 0) return read_header();
    stream_.expires_after(seconds_of(most_s));
    stream_.async_read_some(
        buffer_.prepare(4096),
        [self = shared_from_this()](const boost::system::error_code& error, std::size_t n) {
          if (error || self->wire_.ending) return;
          self->buffer_.commit(n);
          self->read_header();
        });
  }

  // The clock runs from the first byte on, however many follow.
  void read_header() {
    stream_.expires_after(seconds_of(limits_.header_s));
    http::async_read_header(stream_, buffer_, *header_,
                            [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
                              self->on_header(error);
                            });
  }

  void on_header(const boost::system::error_code& error) {
    be_idle(false);
    started_ = WireClock::now();
    if (error == http::error::end_of_stream || error == asio::error::operation_aborted ||
        error == asio::error::connection_reset || error == asio::error::eof)
      return;
    request_ = error ? HttpRequest{} : request_of(header_->get().base());
    if (error == beast::error::timeout) return close();
    if (error) return refuse(read_problem(error));
    keep_alive_ = header_->get().keep_alive() && !wire_.ending;
    if (auto refused = refused_access(request_, wire_.options)) return refuse(std::move(*refused));
    const std::string coding = request_.header("transfer-encoding");
    if (!coding.empty() && !beast::iequals(coding, "chunked"))
      return refuse(problem_response(400, "bad_input", "the only Transfer-Encoding that is read is chunked"));
    route_ = Api::route(request_);
    // Nobody reads such a body, so nobody waits for it.
    const bool has_body = header_->content_length().value_or(0) > 0 || !coding.empty();
    if (has_body && !route_) return refuse(wire_.api.answer(request_));
    if (has_body && route_->method == "GET")
      return refuse(problem_response(400, "bad_input", "a GET request here has no body"));
    const auto length = header_->content_length();
    const std::uint64_t most = route_ && route_->file ? limits_.upload_bytes : limits_.body_bytes;
    if (length && *length > most)
      return refuse(
          problem_response(413, "too_large", "a request here is at most " + std::to_string(most) + " bytes"));
    if (route_ && route_->file && wire_.uploads >= limits_.uploads)
      return refuse(problem_response(503, "busy", "too many files are being sent; try again in a moment"));
    if (beast::iequals(request_.header("expect"), "100-continue")) return go_on();
    read_body();
  }

  void go_on() {
    auto line = std::make_shared<std::string>("HTTP/1.1 100 Continue\r\n\r\n");
    asio::async_write(stream_, asio::buffer(*line),
                      [self = shared_from_this(), line](const boost::system::error_code& error, std::size_t) {
                        if (!error) self->read_body();
                      });
  }

  void read_body() {
    const bool upload = route_ && route_->file;
    // A large file over a slow line takes its time; its owner is known to be allowed to send it.
    stream_.expires_after(seconds_of(limits_.request_s * (upload ? 10 : 1)));
    const auto done = [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
      self->on_body(error);
    };
    if (upload) {
      ++wire_.uploads;
      uploads_ = true;
      upload_ = wire_.api.networks().scratch_path();
      file_.emplace(std::move(*header_));
      file_->body_limit(limits_.upload_bytes);
      boost::system::error_code error;
      file_->get().body().open(upload_.c_str(), beast::file_mode::write, error);
      if (error)
        return refuse(problem_response(500, "failed", "the file cannot be kept: " + error.message()));
      http::async_read(stream_, buffer_, *file_, done);
    } else {
      text_.emplace(std::move(*header_));
      text_->body_limit(limits_.body_bytes);
      http::async_read(stream_, buffer_, *text_, done);
    }
  }

  static HttpResponse read_problem(const boost::system::error_code& error) {
    if (error == http::error::body_limit)
      return problem_response(413, "too_large", "the request is larger than this server takes");
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
      return problem_response(431, "too_large", "the request's headers are larger than this server takes");
    return problem_response(400, "bad_input", "this is no HTTP request");
  }

  void on_body(const boost::system::error_code& error) {
    started_ = WireClock::now();
    if (error == beast::error::timeout)
      return refuse(problem_response(408, "bad_input", "the request did not come in time"));
    if (error == http::error::partial_message || error == asio::error::eof ||
        error == asio::error::connection_reset || error == asio::error::operation_aborted)
      return close();
    if (error) return refuse(read_problem(error));
    if (file_) {
      file_->get().body().close();
      request_.file = upload_;
    } else {
      request_.body = std::move(text_->get().body());
    }
    request_.may_wait = route_ && route_->slow;
    stream_.expires_never();
    compute(request_.may_wait);
  }

  // On another thread; one that may wait for processes, or one that may not.
  void compute(bool wait) {
    std::atomic<int>& queued = wait ? wire_.queued_to_wait : wire_.queued;
    const int most = wait ? limits_.children * 8 : limits_.waiting;
    if (queued >= most)
      return respond(problem_response(503, "busy", "too many requests wait already; try again in a moment"));
    ++queued;
    asio::post(wait ? wire_.waiting : wire_.computing, [self = shared_from_this(), wait] {
      give_way();
      std::optional<HttpResponse> response;
      try {
        response = self->wire_.api.answer(self->request_);
      } catch (const MustWait&) {
        self->request_.may_wait = true;
      }
      --(wait ? self->wire_.queued_to_wait : self->wire_.queued);
      asio::post(self->wire_.io, [self, response = std::move(response)]() mutable {
        response ? self->respond(std::move(*response)) : self->compute(true);
      });
    });
  }

  // Before the whole request was read: what else comes of it is not worth reading.
  void refuse(HttpResponse response) {
    keep_alive_ = false;
    drains_ = true;
    respond(std::move(response));
  }

  void respond(HttpResponse response) {
    let_go();
    if (wire_.ending) keep_alive_ = false;
    if (response.events && request_.method != "HEAD") return feed(std::move(response));
    log(response, response.asset.empty() ? response.body.size() : response.asset.size());
    response_ = std::move(response);
    const auto done = [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
      self->on_written(error);
    };
    stream_.expires_after(seconds_of(limits_.request_s));
    if (request_.method == "HEAD" || response_.status == 304) {
      head_.emplace();
      put_headers(*head_);
      if (response_.status != 304)
        head_->content_length(response_.asset.empty() ? response_.body.size() : response_.asset.size());
      http::async_write(stream_, *head_, done);
    } else if (!response_.asset.empty()) {
      asset_.emplace();
      put_headers(*asset_);
      asset_->body() = beast::span<const char>(response_.asset.data(), response_.asset.size());
      asset_->prepare_payload();
      http::async_write(stream_, *asset_, done);
    } else {
      whole_.emplace();
      put_headers(*whole_);
      whole_->body() = std::move(response_.body);
      whole_->prepare_payload();
      http::async_write(stream_, *whole_, done);
    }
  }

  template <class Message>
  void put_headers(Message& message) {
    message.version(11);
    message.result(static_cast<unsigned>(response_.status));
    message.keep_alive(keep_alive_);
    message.set("Content-Type", response_.type);
    message.set("X-Content-Type-Options", "nosniff");
    message.set("Referrer-Policy", "no-referrer");
    message.set("Cross-Origin-Resource-Policy", "same-origin");
    message.set("X-Frame-Options", "DENY");
    message.set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
    message.set("Cache-Control", "no-store");
    for (const auto& [name, value] : response_.headers) message.set(name, value);
  }

  void on_written(const boost::system::error_code& error) {
    head_.reset();
    asset_.reset();
    whole_.reset();
    if (error) return close();
    if (keep_alive_ && !wire_.ending) return await_request(limits_.idle_s);
    boost::system::error_code none;
    stream_.socket().shutdown(tcp::socket::shutdown_send, none);
    if (!drains_) return close();
    // Closed at once, what still comes would take the response away from whoever is sending.
    be_idle(true);
    stream_.expires_after(std::chrono::seconds(2));
    drain();
  }

  void drain() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(64 << 10),
                            [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
                              error ? self->close() : self->drain();
                            });
  }

  void feed(HttpResponse response) {
    if (wire_.feeds >= std::max(1, limits_.connections / 4))
      return respond(problem_response(503, "busy", "too many watch already"));
    ++wire_.feeds;
    feeds_ = true;
    log(response, 0);
    keep_alive_ = false;
    response_ = std::move(response);
    events_ = response_.events;
    head_.emplace();
    put_headers(*head_);
    header_writer_.emplace(*head_);
    stream_.expires_after(seconds_of(limits_.request_s));
    http::async_write_header(
        stream_, *header_writer_,
        [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
          if (!error) self->feed_on();
        });
  }

  void feed_on() {
    std::optional<std::string> text = wire_.ending ? std::nullopt : events_();
    if (!text) return close();
    constexpr std::chrono::seconds kHeartbeat(5);
    if (text->empty() && WireClock::now() - since_ > kHeartbeat) text = ": still here\n\n";
    if (text->empty()) {
      timer_.expires_after(std::chrono::milliseconds(100));
      timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
        if (!error) self->feed_on();
      });
      return;
    }
    since_ = WireClock::now();
    feed_text_ = std::move(*text);
    stream_.expires_after(seconds_of(limits_.request_s));
    asio::async_write(stream_, asio::buffer(feed_text_),
                      [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
                        error ? self->close() : self->feed_on();
                      });
  }

  // What it holds beside the connection itself.
  void let_go() {
    if (uploads_) --wire_.uploads;
    uploads_ = false;
    if (feeds_) --wire_.feeds;
    feeds_ = false;
    if (upload_.empty()) return;
    std::error_code gone;
    std::filesystem::remove(upload_, gone);
    upload_.clear();
  }

  void log(const HttpResponse& response, std::size_t bytes) {
    const double took = std::chrono::duration<double>(WireClock::now() - started_).count();
    const std::string route = response.route.empty() ? "other" : response.route;
    wire_.api.metrics().count_request(route == "other" ? "other" : request_.method, route, response.status,
                                      took);
    if (!wire_.events.access) return;
    char figures[80];
    std::snprintf(figures, sizeof figures, " %d %zu %.1fms", response.status, bytes, 1e3 * took);
    const std::string asked = request_.method.empty() ? "-" : request_.method + " " + request_.target;
    wire_.events.access(utc_now() + " " + peer_ + " \"" + plain_line(capped(as_utf8(asked), 500)) + "\"" +
                        figures);
  }

  Wire& wire_;
  const ServeLimits& limits_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  asio::steady_timer timer_{wire_.io};
  std::string peer_;
  bool idle_ = true;
  WireClock::time_point since_ = WireClock::now();
  WireClock::time_point started_ = WireClock::now();
  bool keep_alive_ = false, drains_ = false, uploads_ = false, feeds_ = false;
  std::optional<http::request_parser<http::empty_body>> header_;
  std::optional<TextParser> text_;
  std::optional<FileParser> file_;
  const ApiRoute* route_ = nullptr;
  HttpRequest request_;
  std::string upload_;
  HttpResponse response_;
  std::optional<http::response<http::empty_body>> head_;
  std::optional<http::response_serializer<http::empty_body>> header_writer_;
  std::optional<http::response<http::span_body<const char>>> asset_;
  std::optional<http::response<http::string_body>> whole_;
  EventFeed events_;
  std::string feed_text_;
};

// Takes connections; where there are too many, the one that has been idle longest makes room.
class Doorkeeper {
 public:
  explicit Doorkeeper(Wire& wire) : wire_(wire), acceptor_(wire.io), pause_(wire.io) {
    boost::system::error_code error;
    const tcp::endpoint where(asio::ip::make_address(wire.options.bind),
                              static_cast<std::uint16_t>(wire.options.port));
    acceptor_.open(where.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(where, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error)
      throw bad_input(wire.options.bind + ", port " + std::to_string(wire.options.port) +
                      ": cannot be had: " + error.message() + "; name another with --port");
  }

  int port() const { return acceptor_.local_endpoint().port(); }

  void accept() {
    acceptor_.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
      if (!acceptor_.is_open()) return;
      if (error) {  // too many files, most likely: they will be fewer
        pause_.expires_after(std::chrono::milliseconds(100));
        pause_.async_wait([this](const boost::system::error_code& stopped) {
          if (!stopped) accept();
        });
        make_room(0);
        return;
      }
      make_room(wire_.options.limits.connections - 1);
      if (static_cast<int>(wire_.connections.size()) < wire_.options.limits.connections)
        std::make_shared<Connection>(std::move(socket), wire_)->start();
      wire_.api.metrics().count_connections(static_cast<int>(wire_.connections.size()));
      accept();
    });
  }

  void end() {
    boost::system::error_code none;
    acceptor_.close(none);
    pause_.cancel();
    const std::set<Connection*> all = wire_.connections;
    for (Connection* connection : all) {
      if (connection->is_idle()) connection->close();
    }
  }

 private:
  void make_room(int most) {
    if (static_cast<int>(wire_.connections.size()) <= most) return;
    Connection* longest = nullptr;
    for (Connection* connection : wire_.connections) {
      if (connection->is_idle() && (!longest || connection->idle_since() < longest->idle_since()))
        longest = connection;
    }
    if (!longest) return;
    longest->close();
    wire_.connections.erase(longest);  // it goes when its last handler has run
  }

  Wire& wire_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
};

// Files for so many connections, where that is allowed.
void allow_files(int connections) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const auto wanted = static_cast<rlim_t>(connections) + 256;
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// The first estimate of a device takes seconds, the second none: so somebody asks before the users do.
void warm_up(Wire& wire) {
  const auto quietly = [](const auto& work) {
    try {
      work();
    } catch (const std::exception&) {  // whoever asks is told
    }
  };
  quietly([&] {
    for (const std::string& device : wire.api.estimator().devices()->measured) {
      if (wire.ending) return;
      quietly([&] {
        const ServedNetworkPtr network = wire.api.networks().find({{"zoo", "lenet5"}}, {}, true);
        wire.api.estimator().answer(device, *network, {32, {}}, {});
      });
    }
  });
}

}  // namespace

void serve(const ServeOptions& options, const ServeEvents& events) {
  check_access(options);
  allow_files(options.limits.connections);
  Wire wire(options, events);
  Doorkeeper door(wire);
  asio::signal_set signals(wire.io, SIGTERM, SIGINT);
  asio::steady_timer grace(wire.io);
  const std::function<void(int)> wait_for_rest = [&](int tenths) {
    if (wire.connections.empty() || tenths == 0) return wire.io.stop();
    grace.expires_after(std::chrono::milliseconds(100));
    grace.async_wait([&, tenths](const boost::system::error_code&) { wait_for_rest(tenths - 1); });
  };
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (error) return;
    wire.ending = true;
    door.end();
    wait_for_rest(100);
  });
  give_way();
  door.accept();
  asio::post(wire.waiting, [&] {
    give_way();
    warm_up(wire);
  });
  if (events.ready) events.ready(door.port());
  wire.io.run();
  wire.computing.join();
  wire.waiting.join();
}

HttpResponse answer_bytes(Api& api, std::string_view bytes) {
  const ServeLimits& limits = api.options().limits;
  http::request_parser<http::string_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(limits.header_bytes));
  parser.body_limit(limits.body_bytes);
  parser.eager(true);
  boost::system::error_code error;
  std::size_t used = 0;
  while (!error && used < bytes.size() && !parser.is_done())
    used += parser.put(asio::buffer(bytes.data() + used, bytes.size() - used), error);
  if (!error && parser.got_some()) parser.put_eof(error);
  if (error || !parser.is_header_done()) return problem_response(400, "bad_input", "this is no HTTP request");
  HttpRequest request = request_of(parser.get().base());
  if (auto refused = refused_access(request, api.options())) return std::move(*refused);
  request.body = std::move(parser.get().body());
  return api.answer(request);
}

}  // namespace ampere
