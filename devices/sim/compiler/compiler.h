#pragma once
// The table L2: graphs become C++, which the system's compiler builds.
//
//   lowering    each operator as expressions of single elements (Builder); what is folded, scattered, drawn
//   or
//               shared by several becomes a stage of the Program
//   schedule    stages over the same elements become one nest of loops
//   memory_plan what must lie in memory between nests shares one block of scratch memory
//   emit        each nest as C++ without a header, with those functions of the prelude that it calls
//   toolchain   the compiler of the system, in a directory of its own
//   engine      the library that it built, on a stream; engine_file: as bytes
//
// bfloat16 and float16 are computed in float32. They are rounded where they are stored and where the graph
// converts to them; between operators of one nest values keep the digits of float32.

#include "options.h"
#include "torchplug/plug.h"

namespace torchplug::sim::compiler {

// Once, by the entry point.
plug_compiler make_compiler(const Options& options);

}  // namespace torchplug::sim::compiler
