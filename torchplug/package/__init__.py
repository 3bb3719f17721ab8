"""Packages of compiled programs: docs/packages.md.

`torchplug.load_package` loads one, `torchplug package` makes one. Loading imports neither torch.export nor Dynamo.
"""
