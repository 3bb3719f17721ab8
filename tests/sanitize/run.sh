#!/usr/bin/env bash
# run.sh address,undefined|thread
# Builds core, plugins and tests with the sanitizer into a tree of their own, runs the C++ tests, and a few
# Python tests with the sanitizer's library loaded before everything else. PyTorch itself is not
# instrumented: *.supp says what is suppressed for it, and why.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
sanitizer=$1
jobs=${JOBS:-$(nproc)}
export PATH=$root/.venv/bin:$PATH OMP_NUM_THREADS=1

# What a sanitizer cannot judge.
skipped=standalone_loads_no_python
chosen="not blocking_run and not costs_few"
case $sanitizer in
  thread)
    build=$root/build-tsan library=libtsan.so
    # How PyTorch hands work to autograd's threads is not seen; the C++ test of gradients is among those below.
    skipped=standalone
    chosen="$chosen and not backward and not gradient"
    # It leaves few addresses free, and a device takes 64 for each byte: too many with the memory that the
    # tests of fragmentation want. Where PyTorch's parser throws, it goes on ignoring the thread.
    export TORCHPLUG_SIM_MEMORY=1GiB
    export GTEST_FILTER=-BoundKernel.gradients_flow*:AllocatorFragmentation.*:Splitting.a_setting_that_does_not_exist*
    ;;
  *) build=$root/build-asan library=libasan.so ;;
esac
here=$root/tests/sanitize
# Faults are PyTorch's and the tests' own to handle. Leaks are looked for where tests/cpp/harness.h says.
export ASAN_OPTIONS=handle_segv=0:detect_leaks=1:detect_odr_violation=0:abort_on_error=1:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
# Processes are forked before they start threads, but the sanitizer counts its own.
export TSAN_OPTIONS=suppressions=$here/thread.supp:handle_segv=0:allocator_may_return_null=1:die_after_fork=0:halt_on_error=1:second_deadlock_stack=1:ignore_noninstrumented_modules=1

cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTORCHPLUG_TESTS=ON \
  -DTORCHPLUG_SANITIZE="$sanitizer" -DCMAKE_PREFIX_PATH="$root/.venv/debian/usr" \
  -DPython_EXECUTABLE="$root/.venv/bin/python" >/dev/null
ninja -C "$build" -j "$jobs"

echo "== $sanitizer: C++ tests"
ctest --test-dir "$build" --output-on-failure -E "$skipped"

echo "== $sanitizer: Python"
# As a package: the Python files of the checkout, the libraries of this build.
site=$build/site
rm -rf "$site"
cmake --install "$build" --prefix "$site" >/dev/null
cp -r "$root/torchplug/." "$site/torchplug/"
preload=$("${CC:-cc}" -print-file-name=$library):$("${CC:-cc}" -print-file-name=libstdc++.so.6)
export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 PYTHONMALLOC=malloc
# Not in the checkout, whose own torchplug would be found first.
cd "$build"
run_python() {
  TORCHPLUG_TEST_SITE=$site PYTHONPATH=$here TORCHPLUG_DEVICE=$build/devices/sim/libsim.so LD_PRELOAD=$preload \
    python -m pytest -q -x -p no:cacheprovider "$@"
}
run_python -k "$chosen" "$root/tests/python/test_threads.py" "$root/tests/python/test_asynchrony.py"
# Engines are made by a compiler that knows nothing of the sanitizer; what calls them is looked at.
run_python -k threads "$root/tests/python/test_compile.py" "$root/tests/python/test_compile_engines.py"
