// What becomes of a worker that nobody listens to any more.
#pragma once

namespace ampere::worker {

// Ends this process as soon as nobody can read what it writes to `out`, a pipe or socket, whatever it is
// doing: when the connection of an ssh session breaks, or ampere is gone. It would else finish its
// measurement, and disturb that of the worker which is started after it.
void end_when_unheard(int out);

}  // namespace ampere::worker
