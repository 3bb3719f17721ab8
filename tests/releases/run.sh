#!/bin/sh
# run.sh RELEASE
# Tests what is committed with another release of PyTorch, in a checkout of its own that is kept for the next time. PyPI has
# earlier releases with the libraries of CUDA only, which take gigabytes.
set -eu
release=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
checkout=$root/build/pytorch-$release
[ -d "$checkout" ] || git clone --quiet --no-checkout "$root" "$checkout"
git -C "$checkout" fetch --quiet "$root" HEAD
git -C "$checkout" checkout --quiet --force --detach FETCH_HEAD
cd "$checkout"
MAKEFLAGS= make TORCH="torch==$release" build-tests
# A GPU of this machine, which that PyTorch could use, is not what is tested.
export CUDA_VISIBLE_DEVICES= PATH=$checkout/.venv/bin:$PATH
ctest --test-dir build --output-on-failure --parallel "$(nproc)"
TORCHPLUG_DEVICE=sim pytest -n "$(nproc)" --dist loadfile --no-loadscope-reorder tests/python
