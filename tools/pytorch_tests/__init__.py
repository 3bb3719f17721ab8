"""PyTorch's own device-generic tests, run on a torchplug device and, where they fail, on the CPU.

cli: what to run, and on which device. suites: the test files. runner: worker processes and what they are told
to run. worker: the child, which imports one test file. report: progress, results on disk, table and list.
"""
