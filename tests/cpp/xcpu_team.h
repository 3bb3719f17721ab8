#pragma once
// A team of a test's own: new threads for every region.

#include <thread>
#include <vector>

#include "xcpu/xcpu.h"

namespace xcpu_test {

class Team {
 public:
  explicit Team(int size) : size_(size), team_{this, run} {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  const xcpu_team* get() const { return &team_; }

 private:
  static void run(void* context, void (*function)(void* argument, std::int32_t index, std::int32_t count),
                  void* argument) {
    const int size = static_cast<Team*>(context)->size_;
    std::vector<std::thread> others;
    for (int i = 1; i < size; ++i) others.emplace_back(function, argument, i, size);
    function(argument, 0, size);
    for (std::thread& other : others) other.join();
  }

  int size_;
  xcpu_team team_;
};

}  // namespace xcpu_test
