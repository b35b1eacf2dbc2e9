// The things used last, up to a weight in all.
#pragma once

#include <list>
#include <map>
#include <string>
#include <utility>

namespace ampere {

// Not thread-safe.
template <class Value>
class Lru {
 public:
  explicit Lru(std::size_t most_weight) : most_(most_weight) {}

  // Null where there is none.
  const Value* find(const std::string& key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return &found->second->value;
  }

  void put(const std::string& key, Value value, std::size_t weight = 1) {
    erase(key);
    order_.push_front({key, std::move(value), weight});
    by_key_[key] = order_.begin();
    weight_ += weight;
    while (weight_ > most_ && order_.size() > 1) erase(order_.back().key);
  }

  void clear() {
    by_key_.clear();
    order_.clear();
    weight_ = 0;
  }
  std::size_t size() const { return order_.size(); }

 private:
  struct Entry {
    std::string key;
    Value value;
    std::size_t weight;
  };
  void erase(std::string key) {  // a copy: it may be the entry's own
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return;
    weight_ -= found->second->weight;
    order_.erase(found->second);
    by_key_.erase(found);
  }

  std::size_t most_;
  std::size_t weight_ = 0;
  std::list<Entry> order_;  // the one used last first
  std::map<std::string, typename std::list<Entry>::iterator> by_key_;
};

}  // namespace ampere
