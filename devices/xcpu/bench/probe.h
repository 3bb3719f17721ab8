#pragma once
// What the machine can do at most, measured beside what is compared with it: bytes read from memory, and
// products.

#include <cstdint>
#include <memory>

#include "xcpu/xcpu.h"

namespace xcpu_bench {

// Memory on huge pages, where the system has them.
class Memory {
 public:
  explicit Memory(std::int64_t bytes);
  ~Memory();
  Memory(Memory&& other) noexcept;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::uint8_t* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::uint8_t* data_;
  std::int64_t bytes_;
};

// Threads that wait for work by looking, as those of a program that decodes do.
class Threads {
 public:
  explicit Threads(int count);
  ~Threads();
  const xcpu_team* team() const;
  int count() const;

  // A clock: the time of day; of one thread what it was given of its processor, whoever shares that.
  double seconds() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Bytes a second, of the fastest of the memory's parts of so many bytes.
double read_bandwidth(const Threads& threads, const Memory& memory, std::int64_t part);

// The fastest of some tries. Products of bf16 and of int8 a second, a multiplication and an addition each; 0
// where there is no instruction.
struct Peak {
  double bf16, int8;
};
Peak peak_products(const Threads& threads);

}  // namespace xcpu_bench
