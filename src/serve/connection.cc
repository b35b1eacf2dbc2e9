#include "serve/connection.h"

#include "serve/access.h"

namespace ampere {
namespace {

HttpResponse read_problem(const boost::system::error_code& error) {
  if (error == http::error::body_limit)
    return problem_response(413, "too_large", "the request is larger than this server takes");
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return problem_response(431, "too_large", "the request's headers are larger than this server takes");
  return problem_response(400, "bad_input", "this is no HTTP request");
}

}  // namespace

WireClock::duration seconds_of(double s) {
  return std::chrono::duration_cast<WireClock::duration>(std::chrono::duration<double>(s));
}

Connection::Connection(tcp::socket socket, Wire& wire)
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

Connection::~Connection() {
  wire_.connections.erase(this);
  let_go();
}

void Connection::close() {
  boost::system::error_code none;
  stream_.socket().shutdown(tcp::socket::shutdown_both, none);
  stream_.close();
}

void Connection::be_idle(bool idle) {
  idle_ = idle;
  since_ = WireClock::now();
}

void Connection::await_request(double most_s) {
  be_idle(true);
  header_.emplace();
  header_->header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
  header_->body_limit(limits_.upload_bytes);
  text_.reset();
  file_.reset();
  if (buffer_.size() > 0) return read_header();
  stream_.expires_after(seconds_of(most_s));
  stream_.async_read_some(buffer_.prepare(4096),
                          [self = shared_from_this()](const boost::system::error_code& error, std::size_t n) {
                            if (error || self->wire_.ending) return;
                            self->buffer_.commit(n);
                            self->read_header();
                          });
}

// The clock runs from the first byte on, however many follow.
void Connection::read_header() {
  stream_.expires_after(seconds_of(limits_.header_s));
  http::async_read_header(stream_, buffer_, *header_,
                          [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
                            self->on_header(error);
                          });
}

void Connection::on_header(const boost::system::error_code& error) {
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

void Connection::go_on() {
  auto line = std::make_shared<std::string>("HTTP/1.1 100 Continue\r\n\r\n");
  asio::async_write(stream_, asio::buffer(*line),
                    [self = shared_from_this(), line](const boost::system::error_code& error, std::size_t) {
                      if (!error) self->read_body();
                    });
}

void Connection::read_body() {
  sending_ = true;
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
    if (error) return refuse(problem_response(500, "failed", "the file cannot be kept: " + error.message()));
    http::async_read(stream_, buffer_, *file_, done);
  } else {
    text_.emplace(std::move(*header_));
    text_->body_limit(limits_.body_bytes);
    http::async_read(stream_, buffer_, *text_, done);
  }
}

void Connection::on_body(const boost::system::error_code& error) {
  sending_ = false;
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

void Connection::compute(bool wait) {
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

}  // namespace ampere
