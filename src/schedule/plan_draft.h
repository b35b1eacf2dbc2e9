// A plan in the making: jobs are put in and taken out, and at every moment it is one that could be run.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "schedule/workshop.h"

namespace ampere {

inline constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

struct DraftJob {
  std::size_t job = 0;
  Slot slot;
  double end_s() const { return slot.after.time_s; }
};
using Lane = std::vector<DraftJob>;  // in the order they run

class PlanDraft {
 public:
  explicit PlanDraft(const Workshop& workshop);

  // The device's lane with the job in it; absent when it does not fit beside what is there. What the job
  // depends on must be in the draft. Other lanes stay as they are, so that a job never moves behind the
  // start of one elsewhere that waits for it.
  std::optional<Lane> lane_with(std::size_t job, std::size_t device) const;
  // The lane that runs these jobs in this order, if it can be run.
  std::optional<Lane> lane_of(const std::vector<std::size_t>& sequence, std::size_t device) const;
  void put(std::size_t device, Lane lane);
  // Takes it out, with all that wait for it; lanes close up. Returns what was taken out.
  std::vector<std::size_t> take_out(std::size_t job);

  bool holds(std::size_t job) const { return device_of_[job] != kNowhere; }
  std::size_t device_of(std::size_t job) const { return device_of_[job]; }
  const Lane& lane(std::size_t device) const { return lanes_[device]; }
  double value() const;
  double share() const;                   // of devices' means, over all jobs
  bool can_start(std::size_t job) const;  // all that it depends on is there
  const Workshop& workshop() const { return *workshop_; }

  // Remembers lanes from now on as they were, to go back to.
  void mark() { before_.clear(); }
  void go_back();
  // How many slots were looked for, over all drafts copied from one: a measure of work that does not depend
  // on the clock.
  std::size_t work() const { return work_; }

  // For a job that does not fit: the slot that comes nearest, at its place among the jobs of the device. Puts
  // nothing in.
  Slot nearest_slot(std::size_t job, std::size_t device, bool empty_device) const;

 private:
  std::size_t place_of(std::size_t job, const Lane& lane) const;
  double release_of(std::size_t job, std::size_t device, const Lane& so_far) const;
  double due_of(std::size_t job, std::size_t device) const;
  bool extend(Lane& lane, std::size_t job, std::size_t device) const;

  const Workshop* workshop_;
  std::vector<Lane> lanes_;
  std::vector<std::size_t> device_of_;
  std::vector<double> start_s_, end_s_;  // by job
  std::map<std::size_t, Lane> before_;
  mutable std::size_t work_ = 0;
};

}  // namespace ampere
