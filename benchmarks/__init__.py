"""`python -m benchmarks`, which `make bench` runs: what torchplug costs, on four devices, from Python and from
C++, against what we aim at. docs/performance.md says what is measured and how."""
