#include "worker/hang_up.h"

#include <poll.h>

#include <cerrno>
#include <cstdlib>
#include <thread>

namespace ampere::worker {

void end_when_unheard(int out) {
  std::thread([out] {
    for (;;) {
      // Without events: poll() then comes back for errors and hang-ups alone. A file or terminal has none.
      pollfd fd = {out, 0, 0};
      const int ready = poll(&fd, 1, -1);
      if (ready > 0 && (fd.revents & (POLLERR | POLLHUP)) != 0) std::_Exit(1);
      if (ready > 0 || errno != EINTR) return;
    }
  }).detach();
}

}  // namespace ampere::worker
