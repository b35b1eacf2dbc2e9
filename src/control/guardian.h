// A process of its own that puts devices back to what they were when this one ends, whatever ends it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "control/undo.h"

namespace ampere {

// Is told of every change before it is made, through a pipe that only this process holds open. When the pipe
// closes, by end() or because this process is gone (an exception, a signal, kill -9), it undoes what it was
// told, the last change first. It is in a session of its own, so that what is sent to this process's group
// does not reach it. Make it while this process has one thread.
class Guardian {
 public:
  // Puts back first what an ampere left behind that was killed together with its guardian. Throws
  // Error{kFailed} when that or making a process fails, and Error{kBadInput} while another ampere holds
  // settings of this machine.
  Guardian();
  // As end(), and silent.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  // Throws Error{kFailed} when the guardian is gone: nothing may be changed then.
  void promise(const Undo& undo);

  // Has everything put back and waits for it. What could not be is told, one message for each, with the
  // command for it. Can be called again.
  std::vector<std::string> end();

  pid_t pid() const { return pid_; }
  // What was left behind and put back, as the commands for it.
  const std::vector<std::string>& left_behind() const { return left_behind_; }

 private:
  std::vector<Undo> begin();  // what was left behind
  void release();

  int lock_ = -1;
  pid_t pid_ = -1;
  int to_guardian_ = -1;
  int from_guardian_ = -1;
  std::vector<Undo> promised_;
  std::vector<std::string> left_behind_;
};

// Puts all of them back, the last first; tells what could not be. `still_changed` gets those of them that are
// not as they were.
std::vector<std::string> put_all_back(const std::vector<Undo>& undos, std::shared_ptr<const Nvml>& nvml,
                                      std::vector<Undo>& still_changed);

}  // namespace ampere
