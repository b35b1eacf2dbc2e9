// Points that are measured while the server is away wait in a store of their own, in a file, and are
// delivered when it is back: by this run, the next one, or `ampere store deliver`.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "store/address.h"
#include "store/schema.h"
#include "store/store_impl.h"

namespace ampere {
namespace {

// Few enough that others need not wait long for what they stand in the way of.
constexpr std::size_t kDeliveredTogether = 200;

}  // namespace

void Store::keep_aside(const std::string& device, const std::string& recipe, const StoredSurface* surface,
                       const StoredPoint& point, const StoredFact* fact, const std::string& why) {
  try {
    const auto fingerprint = impl_->fingerprints.find(device);
    if (fingerprint == impl_->fingerprints.end())
      throw Error(ErrorKind::kFailed, "nothing is known of device " + device);
    if (!impl_->aside) impl_->aside = std::make_unique<Store>(aside_path(impl_->db->place()));
    impl_->aside->know_device(fingerprint->second);
    if (surface) impl_->aside->add_point(device, recipe, *surface, point);
    if (fact) impl_->aside->put_fact(device, recipe, fact->name, fact->value);
    ++impl_->waiting;
  } catch (const Error& e) {
    throw Error(ErrorKind::kFailed,
                why + "; what was measured just now is lost, since it cannot be kept aside: " + e.what());
  }
}

std::string Store::aside() const { return impl_->waiting > 0 ? impl_->aside->path() : ""; }

Delivery Store::deliver() {
  const std::string place = impl_->db->place();
  if (place.empty())
    throw bad_input(path() + ": a file is never away, so nothing waits for it; name a server with --store");
  Delivery done = std::exchange(impl_->delivered, {});
  done.file = aside_path(place);
  done.problem.clear();
  done.left = 0;
  if (!std::filesystem::exists(done.file)) return done;
  Store aside(done.file);
  Database& from = *aside.impl_->db;
  // What a server refuses must not keep the rest from it.
  const auto unless_refused = [&](std::size_t count, const auto& bring) {
    try {
      bring();
    } catch (const ServerAway&) {
      throw;
    } catch (const Error& e) {
      if (done.problem.empty()) done.problem = e.what();
      done.left += static_cast<int>(count);
    }
  };
  for (const StoredDevice& device : aside.devices()) {
    for (const SurfaceCount& s : aside.surfaces(device.id)) {
      const auto points = aside.points(device.id, s.recipe, s.surface.name);
      for (std::size_t begin = 0; begin < points.size(); begin += kDeliveredTogether) {
        const std::size_t end = std::min(points.size(), begin + kDeliveredTogether);
        unless_refused(end - begin, [&] {
          int added = 0;
          impl_->atomically(true, [&] {
            added = 0;
            know_device(device.fingerprint);
            add_surface(*impl_->db, s.surface);
            for (std::size_t i = begin; i < end; ++i)
              added += insert_point(*impl_->db, device.id, s.recipe, s.surface.name, points[i]) ? 1 : 0;
          });
          done.points += added;
          done.points_known += static_cast<int>(end - begin) - added;
          // Killed before this is done, they are brought again and known there.
          aside.impl_->atomically(true, [&] {
            for (std::size_t i = begin; i < end; ++i)
              from.query("DELETE FROM point WHERE device = $1 AND identity = $2",
                         {device.id, points[i].identity});
          });
        });
      }
    }
    for (const StoredFact& fact : aside.facts(device.id)) {
      unless_refused(1, [&] {
        impl_->atomically(true, [&] {
          know_device(device.fingerprint);
          insert_fact(*impl_->db, device.id, fact);
        });
        from.query("DELETE FROM fact WHERE device = $1 AND recipe = $2 AND name = $3 AND value = $4",
                   {device.id, fact.recipe, fact.name, fact.value.dump()});
        ++done.facts;
      });
    }
  }
  impl_->waiting = std::min(impl_->waiting, done.left);
  return done;
}

void Store::deliver_what_waits() {
  if (data_folder().empty()) return;
  try {
    impl_->delivered = deliver();
    impl_->undelivered = impl_->delivered.problem;
  } catch (const ServerAway&) {  // it waits on
  } catch (const Error& e) {     // a file that cannot be read must not keep anybody from the server
    impl_->undelivered = e.what();
  }
}

const std::string& Store::undelivered() const { return impl_->undelivered; }

}  // namespace ampere
