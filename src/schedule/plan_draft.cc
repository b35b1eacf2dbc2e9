#include "schedule/plan_draft.h"

#include <algorithm>

namespace ampere {

PlanDraft::PlanDraft(const Workshop& workshop)
    : workshop_(&workshop),
      lanes_(workshop.device_count()),
      device_of_(workshop.job_count(), kNowhere),
      start_s_(workshop.job_count(), 0),
      end_s_(workshop.job_count(), 0) {}

bool PlanDraft::can_start(std::size_t job) const {
  const auto& needs = workshop_->problem.jobs[job].depends_on;
  return std::all_of(needs.begin(), needs.end(), [&](std::size_t other) { return holds(other); });
}

double PlanDraft::release_of(std::size_t job, std::size_t device, const Lane& so_far) const {
  double release = workshop_->problem.jobs[job].earliest_s;
  for (std::size_t other : workshop_->problem.jobs[job].depends_on) {
    if (device_of_[other] != device && device_of_[other] != kNowhere) {
      release = std::max(release, end_s_[other]);
      continue;
    }
    // On this lane, where times are being made: it must come before.
    const auto found =
        std::find_if(so_far.begin(), so_far.end(), [&](const DraftJob& d) { return d.job == other; });
    release = found == so_far.end() ? kNever : std::max(release, found->end_s());
  }
  return release;
}

double PlanDraft::due_of(std::size_t job, std::size_t device) const {
  double due = workshop_->problem.jobs[job].deadline_s;
  for (std::size_t other : workshop_->dependents[job]) {
    if (holds(other) && device_of_[other] != device) due = std::min(due, start_s_[other]);
  }
  return due;
}

bool PlanDraft::extend(Lane& lane, std::size_t job, std::size_t device) const {
  const Demand& demand = workshop_->demand(job, device);
  if (!demand.possible) return false;
  const double release = release_of(job, device, lane);
  if (release == kNever) return false;
  const Supply& supply = workshop_->supplies[device];
  const LaneState state = lane.empty() ? initial_state(supply) : lane.back().slot.after;
  ++work_;
  const Slot slot = next_slot(supply, workshop_->problem.devices[device].available, state, demand, release,
                              due_of(job, device));
  if (!slot.fits) return false;
  lane.push_back({job, slot});
  return true;
}

// By deadline, as for one machine without batteries that is the best order.
std::size_t PlanDraft::place_of(std::size_t job, const Lane& lane) const {
  const auto& jobs = workshop_->problem.jobs;
  std::size_t place = lane.size();
  while (place > 0 && jobs[lane[place - 1].job].deadline_s > jobs[job].deadline_s) --place;
  // Not before what it waits for.
  for (std::size_t i = place; i < lane.size(); ++i) {
    const auto& needs = jobs[job].depends_on;
    if (std::find(needs.begin(), needs.end(), lane[i].job) != needs.end()) place = i + 1;
  }
  return place;
}

std::optional<Lane> PlanDraft::lane_with(std::size_t job, std::size_t device) const {
  const Demand& demand = workshop_->demand(job, device);
  if (!demand.possible) return std::nullopt;
  const Lane& now = lanes_[device];
  const std::size_t due_place = place_of(job, now);
  auto with_job_at = [&](std::size_t place) -> std::optional<Lane> {
    Lane lane;
    lane.reserve(now.size() + 1);
    lane.assign(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(place));
    if (!extend(lane, job, device)) return std::nullopt;
    for (std::size_t i = place; i < now.size(); ++i) {
      // Behind a wait for the window or the charger nothing may have moved.
      if (!extend(lane, now[i].job, device)) return std::nullopt;
    }
    return lane;
  };
  if (auto lane = with_job_at(due_place)) return lane;
  // Where windows, chargers and earliest starts leave gaps, a place nearby may do.
  constexpr std::size_t kNearby = 3;
  for (std::size_t step = 1; step <= kNearby; ++step) {
    if (due_place >= step) {
      if (auto lane = with_job_at(due_place - step)) return lane;
    }
    if (due_place + step <= now.size()) {
      if (auto lane = with_job_at(due_place + step)) return lane;
    }
  }
  return std::nullopt;
}

std::optional<Lane> PlanDraft::lane_of(const std::vector<std::size_t>& sequence, std::size_t device) const {
  Lane lane;
  for (std::size_t job : sequence) {
    if (!extend(lane, job, device)) return std::nullopt;
  }
  return lane;
}

void PlanDraft::put(std::size_t device, Lane lane) {
  before_.try_emplace(device, lanes_[device]);
  for (const DraftJob& d : lanes_[device]) device_of_[d.job] = kNowhere;
  lanes_[device] = std::move(lane);
  for (const DraftJob& d : lanes_[device]) {
    device_of_[d.job] = device;
    start_s_[d.job] = d.slot.start_s;
    end_s_[d.job] = d.end_s();
  }
}

std::vector<std::size_t> PlanDraft::take_out(std::size_t job) {
  std::vector<std::size_t> out;
  for (std::size_t other : workshop_->dependents[job]) {
    if (!holds(other)) continue;
    const auto more = take_out(other);
    out.insert(out.end(), more.begin(), more.end());
  }
  const std::size_t device = device_of_[job];
  if (device == kNowhere) return out;
  out.push_back(job);
  std::vector<std::size_t> rest;
  for (const DraftJob& d : lanes_[device]) {
    if (d.job != job) rest.push_back(d.job);
  }
  std::optional<Lane> closed = lane_of(rest, device);
  if (!closed) {
    // Rounding may refuse what was there; then it stays where it was.
    closed.emplace(lanes_[device]);
    closed->erase(
        std::find_if(closed->begin(), closed->end(), [&](const DraftJob& d) { return d.job == job; }));
  }
  put(device, std::move(*closed));
  return out;
}

void PlanDraft::go_back() {
  for (const auto& [device, lane] : before_) {
    for (const DraftJob& d : lanes_[device]) device_of_[d.job] = kNowhere;
  }
  for (auto& [device, lane] : before_) {
    lanes_[device] = std::move(lane);
    for (const DraftJob& d : lanes_[device]) {
      device_of_[d.job] = device;
      start_s_[d.job] = d.slot.start_s;
      end_s_[d.job] = d.end_s();
    }
  }
  before_.clear();
}

double PlanDraft::value() const {
  double sum = 0;
  for (std::size_t j = 0; j < device_of_.size(); ++j) {
    if (holds(j)) sum += workshop_->problem.jobs[j].value;
  }
  return sum;
}

double PlanDraft::share() const {
  double sum = 0;
  for (std::size_t j = 0; j < device_of_.size(); ++j) {
    if (holds(j)) sum += workshop_->share(j, device_of_[j]);
  }
  return sum;
}

Slot PlanDraft::nearest_slot(std::size_t job, std::size_t device, bool empty_device) const {
  const Supply& supply = workshop_->supplies[device];
  Lane lane;
  if (!empty_device)
    lane.assign(lanes_[device].begin(),
                lanes_[device].begin() + static_cast<std::ptrdiff_t>(place_of(job, lanes_[device])));
  const LaneState state = lane.empty() ? initial_state(supply) : lane.back().slot.after;
  double release = workshop_->problem.jobs[job].earliest_s;
  for (std::size_t other : workshop_->problem.jobs[job].depends_on) {
    if (holds(other)) release = std::max(release, end_s_[other]);
  }
  return next_slot(supply, workshop_->problem.devices[device].available, state,
                   workshop_->demand(job, device), release, workshop_->problem.jobs[job].deadline_s);
}

}  // namespace ampere
