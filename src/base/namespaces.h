#pragma once
// The modules of the core and their order. Each folder of src is a namespace, and sees the names of those it
// stands on; what stands above it has to be named in full, which nothing below does. Includes point the same
// way: tests/abi/test_layers.py.

namespace torchplug {

namespace base {}   // namespace base
namespace plugin {  // a loaded library: its tables, and the layers around them
using namespace base;
}
namespace runtime {  // devices, streams, events, and the one way by which they are given work
using namespace plugin;
}
namespace memory {  // the allocators
using namespace runtime;
}
namespace sharing {  // memory and events that several processes use
using namespace memory;
}
namespace capture {  // graphs that are captured and replayed
using namespace memory;
}
namespace aten {  // operators
using namespace memory;
using namespace capture;
}  // namespace aten
namespace graph {  // programs without branches, as compilers are given them; nothing of PyTorch's
using namespace base;
}
namespace compile {  // a plugin's compiler: what it compiles, and its engines
using namespace aten;
using namespace graph;
}  // namespace compile
namespace inductor {  // kernels that PyTorch's own compiler generates
using namespace aten;
}  // namespace inductor
namespace package {  // compiled programs on disk, and their calls
using namespace compile;
}
namespace torchscript {  // groups of TorchScript's operators; a library of its own
using namespace compile;
}
namespace autocast {  // mixed precision
using namespace plugin;
}
namespace profiler {  // torch.profiler's view of the devices
using namespace memory;
}
namespace distributed {  // torch.distributed on the devices
using namespace aten;
}
namespace pytorch {  // how all of this becomes a device of PyTorch's
using namespace sharing;
using namespace aten;
using namespace autocast;
using namespace profiler;
using namespace distributed;
}  // namespace pytorch
namespace python {  // the bindings
using namespace pytorch;
}

}  // namespace torchplug
