#pragma once
// What differs between the releases of PyTorch that torchplug is built against.

// torch.accelerator.Graph, and the registry that a device enters its graphs in, are there from 2.12 on.
#if __has_include(<ATen/core/GraphImplInterface.h>)
#define TORCHPLUG_HAS_ACCELERATOR_GRAPH 1
#else
#define TORCHPLUG_HAS_ACCELERATOR_GRAPH 0
#endif
