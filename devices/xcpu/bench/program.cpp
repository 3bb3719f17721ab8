// The probes as a program. It answers each line of stdin with a number: `read BYTES` with bytes a second,
// `bf16` and `int8` with products a second, 0 where there is no instruction. Between two lines it uses no
// processor.
//
//   xcpu_probe THREADS MIB

#include <cstdlib>
#include <iostream>
#include <string>

#include "probe.h"

int main(int count, char** words) {
  if (count != 3) {
    std::cerr << "Call it as: xcpu_probe THREADS MIB\n";
    return 2;
  }
  const int threads = std::atoi(words[1]);
  const xcpu_bench::Memory memory(std::atoll(words[2]) << 20);
  std::string line;
  while (std::getline(std::cin, line)) {
    const xcpu_bench::Threads team(threads);  // which look for work, and so end with it
    const std::string what = line.substr(0, line.find(' '));
    double answer = 0;
    if (what == "read") {
      answer = xcpu_bench::read_bandwidth(team, memory, std::atoll(line.c_str() + what.size()));
    } else if (what == "bf16") {
      answer = xcpu_bench::peak_products(team).bf16;
    } else if (what == "int8") {
      answer = xcpu_bench::peak_products(team).int8;
    } else {
      std::cerr << "There is no probe '" << what << "'; ask for read BYTES, bf16 or int8.\n";
      return 2;
    }
    std::cout << answer << std::endl;
  }
  return 0;
}
