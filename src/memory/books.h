#pragma once
// The statistics of one device's allocator, exact at every moment though each stream counts for itself.
//
// What happens the slow way is entered here; what happens on a shelf is counted there and added when the
// books are settled. So that no peak is missed meanwhile, a shelf's numbers may rise only as far as the
// peaks known so far allow, all shelves together; a shelf that is the only one in use may rise freely, and
// its limits tell how far it did. Either way the peaks are those of one order of all allocations and frees.
//
// The lock of the books also guards the structure that the numbers describe: see BlockPool. No plugin
// function is called with it.

#include <c10/core/CachingDeviceAllocator.h>

#include <mutex>
#include <set>
#include <vector>

#include "memory/shelf.h"

namespace torchplug::memory {

// Free blocks that are parts of segments with other blocks in use: a number of them, and their bytes.
struct IdleSplits {
  int64_t count = 0;
  int64_t bytes = 0;
};

class Books {
 public:
  using Stats = c10::CachingDeviceAllocator::DeviceStats;
  using Kind = c10::CachingAllocator::StatType;

  // Held while anything below is called. Entries between two of them count as one moment.
  class Session {
   public:
    explicit Session(Books& books) : books_(books), lock_(books.lock_) { books.fold(); }
    ~Session() { books_.close(); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

   private:
    Books& books_;
    std::unique_lock<std::mutex> lock_;
  };

  void add_shelf(Shelf& shelf) { shelves_.push_back(&shelf); }
  const std::vector<Shelf*>& shelves() const { return shelves_; }
  // Whether blocks may be had from shelves and put back on them, without the books knowing at once.
  void permit(bool takes, bool gives);

  // What the shelf itself does, where its limits do not let it.
  Block* take_shelved(Shelf& shelf, size_t place, size_t bytes, size_t requested);
  bool shelve(Shelf& shelf, Block* block, size_t place);
  // A small block that its shelf counts was taken from the heap, or is given back to it.
  void take(Shelf& shelf, const Block& block);
  void give(Shelf& shelf, const Block& block);
  // Any other block.
  void take(Kind kind, const Block& block);
  void give(Kind kind, const Block& block);
  // Given back, but in use on other streams: no longer allocated, still active.
  void begin_wait(Kind kind, const Block& block) { wait(kind, block, 1); }
  void end_wait(Kind kind, const Block& block) { wait(kind, block, -1); }

  // What the heaps of this kind hold now.
  void set_idle(Kind kind, IdleSplits idle);
  // Blocks of at least so many units leave a shelf for the heap, if `more_than` bytes lie on it.
  std::vector<Block*> clear(Shelf& shelf, size_t from = 0, int64_t more_than = -1);
  // All shelves stand still while `work`, which is given the blocks that lie on them, runs.
  template <class Work>
  void with_shelved_blocks(const Work& work);

  void reserve(Kind kind, c10::MempoolId_t pool, int64_t bytes, int64_t segments);
  void oversize_segment(bool made);
  void count(int64_t Stats::*number, int64_t by = 1) { stats_.*number += by; }

  Stats read();
  int64_t allocated_bytes();
  int64_t reserved_bytes() const { return total(stats_.reserved_bytes).current; }
  void reset_accumulated();
  void reset_peaks();

  size_t max_split_size = std::numeric_limits<size_t>::max();  // what counts as oversize

 private:
  using Stat = c10::CachingAllocator::Stat;
  using StatArray = c10::CachingAllocator::StatArray;

  static const Stat& total(const StatArray& stats) { return stats[static_cast<size_t>(Kind::AGGREGATE)]; }
  void wait(Kind kind, const Block& block, int64_t sign);
  void count_oversize(const Block& block, bool taken);

  // Adds what the only shelf in use has counted, before the numbers it was counted against change.
  void fold();
  // Settles if a number may be at a new peak.
  void close();
  // Adds up all shelves, with a change of one of them, and says anew how far each may rise.
  void settle(Shelf* asking = nullptr, const Shelf::Numbers& change = {});
  void add(Shelf& shelf);
  std::vector<std::unique_lock<SpinLock>> lock_shelves();
  void note_peaks(const Shelf::Numbers& above);
  bool may_be_at_peak() const;
  void grant();
  void grant(Shelf& shelf, Shelf::Numbers& left);
  Shelf::Numbers room() const;

  std::mutex lock_;
  Stats stats_;  // as of the last settling, and what was entered since
  std::vector<Shelf*> shelves_;
  Shelf* exclusive_ = nullptr;
  Shelf* last_active_ = nullptr;
  int alone_ = 0;             // settlings in a row that found one and the same shelf in use
  Shelf::Numbers granted_{};  // what all shelves together may rise by
  bool may_take_ = true;
  bool may_give_ = true;
};

template <class Work>
void Books::with_shelved_blocks(const Work& work) {
  const auto locks = lock_shelves();
  std::set<const Block*> shelved;
  for (const Shelf* shelf : shelves_) {
    for (const Block* block : shelf->blocks(0)) shelved.insert(block);
  }
  work(shelved);
}

}  // namespace torchplug::memory
