// plug.hpp - kernels in C++17: header only, optional, above plug.h and plug_util.h. A
// kernel is a function whose parameters are its operator's, checked against the schema
// when it is compiled; no exception leaves it. docs/kernels.md shows each part in use.
//
//   namespace {
//   void relu(plug::Call&, plug::Tensor self, plug::Out result) { ... }
//   constexpr plug::Kernel kernels[] = {
//       plug::kernel<&relu>("aten::relu(Tensor self) -> Tensor", PLUG_ACCEPTS_ALIAS)};
//   }
//
// What a kernel is given is borrowed from the host until it returns. The plugin's entry
// point sets plug::host, once, before all else; everything here may then be used on any
// thread.
#ifndef TORCHPLUG_PLUG_HPP
#define TORCHPLUG_PLUG_HPP

#include "torchplug/plug_call.hpp"
#include "torchplug/plug_kernel.hpp"
#include "torchplug/plug_loop.hpp"

#endif  // TORCHPLUG_PLUG_HPP
