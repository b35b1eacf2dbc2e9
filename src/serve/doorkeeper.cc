#include "serve/doorkeeper.h"

#include "serve/connection.h"

namespace ampere {

Doorkeeper::Doorkeeper(Wire& wire) : wire_(wire), acceptor_(wire.io), pause_(wire.io) {
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

void Doorkeeper::accept() {
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

void Doorkeeper::end() {
  boost::system::error_code none;
  acceptor_.close(none);
  pause_.cancel();
  const std::set<Connection*> all = wire_.connections;
  for (Connection* connection : all) {
    if (connection->is_idle()) connection->close();
  }
}

void Doorkeeper::make_room(int most) {
  if (static_cast<int>(wire_.connections.size()) <= most) return;
  Connection *longest = nullptr, *slowest = nullptr;
  const auto longer = [](const Connection* one, const Connection* other) {
    return !other || one->so_since() < other->so_since();
  };
  for (Connection* connection : wire_.connections) {
    if (connection->is_idle() && longer(connection, longest)) longest = connection;
    const bool slow = connection->is_sending() || connection->is_stuck();
    if (slow && longer(connection, slowest)) slowest = connection;
  }
  // Requests that are begun and never finished, and answers that nobody takes, would else keep everybody out.
  if (!longest) longest = slowest;
  if (!longest) return;
  longest->close();
  wire_.connections.erase(longest);  // it goes when its last handler has run
}

}  // namespace ampere
