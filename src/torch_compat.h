#pragma once
// What differs between the releases of PyTorch that this is built for, 2.11 to 2.13.

// Kineto's headers, in the wheel, include {fmt}'s, which not every wheel has. Only what is compiled with
// Kineto's folder among its include paths may ask.
#if __has_include(<libkineto.h>) && __has_include(<fmt/format.h>)
#define TORCHPLUG_HAS_KINETO 1
#else
#define TORCHPLUG_HAS_KINETO 0
#endif
