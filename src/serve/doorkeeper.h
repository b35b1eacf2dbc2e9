// Takes connections; where there are too many, the one that has been idle longest makes room, and where none
// is idle the one whose request has been on its way longest.
#pragma once

#include "serve/wire.h"

namespace ampere {

class Doorkeeper {
 public:
  // Throws Error{kBadInput} where the address cannot be had.
  explicit Doorkeeper(Wire& wire);

  int port() const { return acceptor_.local_endpoint().port(); }
  void accept();
  // No more come in, and those that are idle go.
  void end();

 private:
  void make_room(int most);

  Wire& wire_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
};

}  // namespace ampere
