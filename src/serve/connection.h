// One connection: requests are read (connection.cc) and answered (connection_answer.cc) one after the other.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "serve/wire.h"

namespace ampere {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Wire& wire);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start() { await_request(limits_.header_s); }

  // Whether nothing would be lost by closing it; whether a request is still being sent; since when it has
  // been so.
  bool is_idle() const { return idle_; }
  bool is_sending() const { return sending_; }
  // Whether an answer is on its way to somebody who has not taken it within some seconds.
  bool is_stuck() const { return answering_ && WireClock::now() - since_ > std::chrono::seconds(5); }
  WireClock::time_point so_since() const { return since_; }
  void close();

 private:
  void be_idle(bool idle);

  // Reading.
  void await_request(double most_s);
  void read_header();
  void on_header(const boost::system::error_code& error);
  void go_on();
  void read_body();
  void on_body(const boost::system::error_code& error);
  // On another thread; one that may wait for processes, or one that may not.
  void compute(bool wait);

  // Answering.
  void respond(HttpResponse response);
  // Before the whole request was read: what else comes of it is not worth reading.
  void refuse(HttpResponse response);
  template <class Message>
  void put_headers(Message& message);
  void on_written(const boost::system::error_code& error);
  void drain();
  void feed(HttpResponse response);
  void feed_on();
  // What it holds beside the connection itself.
  void let_go();
  void log(const HttpResponse& response, std::size_t bytes);

  Wire& wire_;
  const ServeLimits& limits_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  asio::steady_timer timer_{wire_.io};
  std::string peer_;
  bool idle_ = true, sending_ = false, answering_ = false;
  WireClock::time_point since_ = WireClock::now();
  WireClock::time_point started_ = WireClock::now();
  bool keep_alive_ = false, drains_ = false, uploads_ = false, feeds_ = false;
  std::optional<http::request_parser<http::empty_body>> header_;
  std::optional<http::request_parser<http::string_body>> text_;
  std::optional<http::request_parser<http::file_body>> file_;
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

WireClock::duration seconds_of(double s);

}  // namespace ampere
