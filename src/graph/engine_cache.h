#pragma once
// The engines of one group, by all that an engine depends on: at most so many, the least recently used go.
// However many threads ask for one that is not there, it is made once. Any thread may use it; engines are
// made, destroyed and waited for under no lock.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <exception>
#include <future>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/namespaces.h"
#include "graph/digest.h"

namespace torchplug::graph {

// All that an engine depends on: the digest of its graph's canonical bytes, sizes, strides, numbers, options
// and the compiler's identity. Keys are equal if the same parts were added in the same order; whoever
// compares keys adds parts of the same kinds to each. A key that is cleared and filled again allocates
// nothing.
class EngineKey {
 public:
  EngineKey& clear();
  EngineKey& add(int64_t number);
  EngineKey& add(double number) { return add(std::bit_cast<int64_t>(number)); }
  EngineKey& add(std::span<const int64_t> numbers);  // and how many they are
  EngineKey& add(std::string_view text);             // likewise
  EngineKey& add(const Digest& digest);

  size_t hash() const { return static_cast<size_t>(hash_); }
  bool operator==(const EngineKey& other) const { return hash_ == other.hash_ && words_ == other.words_; }
  std::string_view bytes() const;  // for EngineStore

 private:
  std::vector<int64_t> words_;
  uint64_t hash_ = 0;
};

template <class Engine>
class EngineCache {
  struct Entry;
  struct State;

 public:
  using Pointer = std::shared_ptr<Engine>;
  static constexpr size_t kDefaultCapacity = 8;

  explicit EngineCache(size_t capacity = kDefaultCapacity) : state_(std::make_shared<State>()) {
    state_->capacity = std::max<size_t>(capacity, 1);
  }

  // The duty to make an engine, which may outlive the cache. A ticket that goes away unused counts as failed.
  class Ticket {
   public:
    Ticket(Ticket&&) noexcept = default;
    Ticket& operator=(Ticket&&) noexcept = delete;
    ~Ticket() {
      if (promise_)
        fail(std::make_exception_ptr(std::runtime_error("the engine was given up before it was made")));
    }

    const EngineKey& key() const { return key_; }
    // Null: the compiler declined, which is remembered like an engine.
    void finish(Pointer engine) {
      state_->put(key_, engine);
      std::exchange(promise_, nullptr)->set_value(std::move(engine));
    }
    // Whoever waits gets the error; who asks later is told that the compiler declined.
    void decline(std::exception_ptr error) {
      state_->put(key_, nullptr);
      std::exchange(promise_, nullptr)->set_exception(std::move(error));
    }
    // Whoever waits gets the error; the next to ask has the engine made anew.
    void fail(std::exception_ptr error) {
      state_->give_up(key_);
      std::exchange(promise_, nullptr)->set_exception(std::move(error));
    }

   private:
    friend class EngineCache;
    Ticket(std::shared_ptr<State> state, EngineKey key)
        : state_(std::move(state)),
          key_(std::move(key)),
          promise_(std::make_unique<std::promise<Pointer>>()) {}

    std::shared_ptr<State> state_;
    EngineKey key_;
    std::unique_ptr<std::promise<Pointer>> promise_;
  };

  // None: there is none yet. Null: the compiler declined.
  std::optional<Pointer> find(const EngineKey& key) {
    const std::scoped_lock hold(state_->lock);
    return state_->find(key);
  }

  // The engine; by make() if it is not there, unless another thread makes it, which is waited for. What
  // make() throws all who wait get. make() does not ask for the same key.
  template <class Make>
  Pointer get(const EngineKey& key, const Make& make) {
    Answer answer = get_or_start(key);
    if (answer.engine) return *std::move(answer.engine);
    if (answer.ticket) {
      try {
        answer.ticket->finish(make());
      } catch (...) {
        answer.ticket->fail(std::current_exception());
      }
    }
    return answer.made.get();
  }

  struct Answer {
    std::optional<Pointer> engine;
    std::optional<Ticket> ticket;      // for the first to ask for an engine that is not there
    std::shared_future<Pointer> made;  // to wait for it, for all who ask meanwhile
  };
  // For engines that are made in the background: waits for nothing.
  Answer get_or_start(const EngineKey& key) {
    const std::scoped_lock hold(state_->lock);
    Answer answer{state_->find(key), std::nullopt, {}};
    if (answer.engine) return answer;
    const auto found = state_->making.find(key);
    if (found != state_->making.end()) {
      answer.made = found->second;
      return answer;
    }
    answer.ticket.emplace(Ticket(state_, key));
    answer.made = answer.ticket->promise_->get_future().share();
    state_->making.emplace(key, answer.made);
    return answer;
  }

  // Drops all engines; those that are being made are made.
  void clear() {
    std::list<Entry> dropped;  // behind the lock
    const std::scoped_lock hold(state_->lock);
    dropped.swap(state_->entries);
    state_->places.clear();
    state_->engines = 0;
  }

  size_t size() const {  // without what was declined
    const std::scoped_lock hold(state_->lock);
    return state_->engines;
  }

 private:
  struct Entry {
    EngineKey key;
    Pointer engine;
  };

  struct State {
    static constexpr size_t kMostDeclined = 1024;  // they cost next to nothing, but shapes are without end
    struct Hash {
      size_t operator()(const EngineKey& key) const { return key.hash(); }
    };
    using Place = typename std::list<Entry>::iterator;

    std::optional<Pointer> find(const EngineKey& key) {  // locked by the caller
      const auto found = places.find(key);
      if (found == places.end()) return std::nullopt;
      entries.splice(entries.begin(), entries, found->second);
      return found->second->engine;
    }

    void put(const EngineKey& key, const Pointer& engine) {
      std::list<Entry> dropped;  // before the lock, so that engines are destroyed behind it
      const std::scoped_lock hold(lock);
      making.erase(key);
      entries.push_front({key, engine});
      places.insert_or_assign(key, entries.begin());
      engines += engine != nullptr;
      if (engines > capacity) drop_last(true, dropped);
      if (entries.size() - engines > kMostDeclined) drop_last(false, dropped);
    }

    void give_up(const EngineKey& key) {
      const std::scoped_lock hold(lock);
      making.erase(key);
    }

    void drop_last(bool is_engine, std::list<Entry>& dropped) {
      auto last = std::prev(entries.end());
      while ((last->engine != nullptr) != is_engine) --last;
      places.erase(last->key);
      engines -= is_engine;
      dropped.splice(dropped.end(), entries, last);
    }

    std::mutex lock;
    size_t capacity = kDefaultCapacity;
    size_t engines = 0;
    std::list<Entry> entries;  // the most recently used first
    std::unordered_map<EngineKey, Place, Hash> places;
    std::unordered_map<EngineKey, std::shared_future<Pointer>, Hash> making;
  };

  std::shared_ptr<State> state_;
};

}  // namespace torchplug::graph
