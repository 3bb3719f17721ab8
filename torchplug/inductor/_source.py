"""What is added to the C++ of a kernel: an entry that takes its arguments as an array, and a way out for exceptions.

An exception may not leave a loop that runs on several threads: it would end the process. So the first one is kept, and thrown
again where the kernel ends.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ENTRY = "torchplug_entry"

FAILURE = """
#include <exception>

namespace {
class Failure {
 public:
  void take() noexcept {
    if (!is_taken_.test_and_set()) first_ = std::current_exception();
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::atomic_flag is_taken_ = ATOMIC_FLAG_INIT;
  std::exception_ptr first_;
};
}  // namespace
"""

# PyTorch 2.13 notes a division by zero in a variable of the whole process, and kernels of several streams run at once. Where that
# is not set, the division throws.
SHARED = re.compile(r"^.*\binductor_cpu_integer_div_error.*\n", re.MULTILINE)
FUNCTION = re.compile(r'extern "C"\s[^;{(]*\bkernel\s*\(')
PARALLEL = re.compile(r"\s*#pragma omp (?:for(?: collapse\((\d+)\))?|single)\s*$")


def completed(source: str, types: Sequence[str]) -> str:
    """The source of a kernel with parameters of these types, and what is added."""
    before, function = _divided(SHARED.sub("", source))
    return "".join([before, FAILURE, _guarded(function), _entry(types)])


def parameters(types: Sequence[str]) -> str:
    """A letter for each, as src/inductor/generated_kernel.h has them."""
    return "".join(_letter(one) for one in types)


def _letter(kind: str) -> str:
    if "*" in kind:
        return "r" if kind.startswith("const ") else "w"
    return {"int64_t": "i", "float": "f"}[kind.removeprefix("const ")]


def _entry(types: Sequence[str]) -> str:
    arguments = ", ".join(_argument(kind, place) for place, kind in enumerate(types))
    return f'\nextern "C" void {ENTRY}(const uint64_t* arguments) {{ kernel({arguments}); }}\n'


def _argument(kind: str, place: int) -> str:
    given = f"arguments[{place}]"
    if "*" in kind:
        return f"reinterpret_cast<{kind}>({given})"
    if _letter(kind) == "i":
        return f"static_cast<int64_t>({given})"
    return f"c10::bit_cast<float>(static_cast<uint32_t>({given}))"


def _divided(source: str) -> tuple[str, str]:
    """What stands before the kernel's function, and from there on."""
    found = list(FUNCTION.finditer(source))
    return source[: found[-1].start()], source[found[-1].start() :]


def _guarded(function: str) -> str:
    lines = function.rstrip().split("\n")
    body = next(place for place, line in enumerate(lines) if line.strip() == "{")
    end = _closing(lines, body)
    before, after = dict[int, str](), dict[int, str]()
    for opening in _parallel_bodies(lines):
        after[opening] = "try {"
        before[_closing(lines, opening)] = "} catch (...) { failure.take(); }"
    after[body] = "Failure failure;"
    before[end] = "failure.rethrow();"
    made = []
    for place, line in enumerate(lines):
        made += [before.get(place), line, after.get(place)]
    return "\n".join(line for line in made if line is not None) + "\n"


def _parallel_bodies(lines: Sequence[str]) -> Iterator[int]:
    """The lines with the opening braces of what one thread does at a time."""
    for place, line in enumerate(lines):
        if found := PARALLEL.match(line):
            opening = place
            for _ in range(int(found[1] or 1)):
                opening = lines.index(_opening(lines, opening + 1), opening + 1)
            yield opening


def _opening(lines: Sequence[str], start: int) -> str:
    return next(line for line in lines[start:] if line.strip() == "{")


def _closing(lines: Sequence[str], opening: int) -> int:
    depth = 0
    for place in range(opening, len(lines)):
        depth += lines[place].count("{") - lines[place].count("}")
        if depth == 0:
            return place
    raise ValueError("A kernel that Inductor has generated does not end.")
