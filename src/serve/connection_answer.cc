#include <cstdio>
#include <filesystem>

#include "base/capped.h"
#include "base/plain_text.h"
#include "serve/connection.h"
#include "store/store.h"

namespace ampere {

template <class Message>
void Connection::put_headers(Message& message) {
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

void Connection::refuse(HttpResponse response) {
  keep_alive_ = false;
  drains_ = true;
  respond(std::move(response));
}

void Connection::respond(HttpResponse response) {
  let_go();
  if (wire_.ending) keep_alive_ = false;
  if (response.events && request_.method != "HEAD") return feed(std::move(response));
  log(response, response.asset.empty() ? response.body.size() : response.asset.size());
  response_ = std::move(response);
  const auto done = [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
    self->on_written(error);
  };
  answering_ = true;
  since_ = WireClock::now();
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

void Connection::on_written(const boost::system::error_code& error) {
  answering_ = false;
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

void Connection::drain() {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(64 << 10),
                          [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
                            error ? self->close() : self->drain();
                          });
}

void Connection::feed(HttpResponse response) {
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
  http::async_write_header(stream_, *header_writer_,
                           [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
                             if (!error) self->feed_on();
                           });
}

void Connection::feed_on() {
  std::optional<std::string> text = events_();  // where the server ends, so do the jobs, which is told
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

void Connection::let_go() {
  if (uploads_) --wire_.uploads;
  uploads_ = false;
  if (feeds_) --wire_.feeds;
  feeds_ = false;
  if (upload_.empty()) return;
  std::error_code gone;
  std::filesystem::remove(upload_, gone);
  upload_.clear();
}

void Connection::log(const HttpResponse& response, std::size_t bytes) {
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

}  // namespace ampere
