"""PyTorch's own compiler, Inductor, on the device: plain `torch.compile(model)`.

Inductor generates C++ for the CPU. Where the host has a view of the device's memory, these kernels run there, in stream
order, beside the device's own for what Inductor calls by name: matrix products, convolutions, attention.

    _register.py    what Inductor is told of the device, as soon as it is imported
    _scheduling.py  from Inductor's nodes to kernels
    _wrapper.py     from Inductor's graph to the Python program that calls them
    _source.py      what is added to a kernel's C++
    runtime.py      what the generated program imports
"""
