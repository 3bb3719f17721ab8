# Everything installed goes into .venv, everything built into build directories, wheels into dist/.
#   make test        set up, build, run all tests
#   make test-full   the same, with every sample of every operator
#   make demo        set up, build, train two small models on the default device
#   make wheel       set up, build, pack the core and each device into dist/
#   make bench       set up, build, measure what torchplug costs (a minute; nothing else should run)
#   make lint        clang-tidy over the core and the plugins (half an hour)
#   make sanitize    build and test with ASan and UBSan, then with TSan (20 minutes)

PYTHON ?= python3
TORCH ?= torch==2.13.0
BIN := .venv/bin
DEBIAN := $(CURDIR)/.venv/debian
JOBS := $(shell nproc)

DEVICES := devices/sim examples/hello

CPP_FILES = $(shell git ls-files '*.c' '*.h' '*.cpp' '*.hpp')
PYTEST = $(BIN)/pytest -n $(JOBS)
# Run once more with every call into the plugin checked.
VALIDATED := $(patsubst %,tests/python/test_%.py,asynchrony copy training)

.PHONY: setup build wheel check test test-full demo bench lint sanitize clean

setup: .venv/ready
.venv/ready: requirements-dev.txt tests/clients/requirements.txt tools/fetch_debian.sh
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet '$(TORCH)' -r requirements-dev.txt -r tests/clients/requirements.txt
	tools/fetch_debian.sh $(DEBIAN)
	touch $@

# With the tools in .venv. Every package keeps its build tree, so that installing and packing compile once.
# A device's library is compiled in the core's tree too, for the C++ tests; with ccache that costs nothing.
PIP := PATH=$(CURDIR)/$(BIN):$$PATH CMAKE_PREFIX_PATH=$(DEBIAN)/usr CMAKE_GENERATOR=Ninja \
  CMAKE_CXX_COMPILER_LAUNCHER=$(shell command -v ccache) SKBUILD_CMAKE_DEFINE=TORCHPLUG_TESTS=ON $(BIN)/pip
PACKAGING := --quiet --no-build-isolation --no-deps

build: setup
	$(PIP) install $(PACKAGING) $(DEVICES:%=./%)
	$(PIP) install $(PACKAGING) --editable .

wheel: build
	rm -rf dist
	$(PIP) wheel $(PACKAGING) --wheel-dir dist $(DEVICES:%=./%) .

check: build
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict torchplug
	$(BIN)/clang-format --dry-run --Werror $(CPP_FILES)

test: check wheel
	$(BIN)/ctest --test-dir build --output-on-failure --parallel $(JOBS)
	TORCHPLUG_DEVICE=hello $(PYTEST) tests/python tests/operators tests/distributed
	TORCHPLUG_DEVICE=sim $(PYTEST) tests
	TORCHPLUG_DEVICE=sim TORCHPLUG_LAYERS=validate $(PYTEST) $(VALIDATED)

test-full: export TORCHPLUG_SWEEP = all
test-full: test

demo: build
	$(BIN)/python -m torchplug.demo

bench: build
	$(BIN)/cmake --build build --target direct operators allocator
	$(BIN)/torchplug bench

lint: build
	git ls-files 'src/*.cpp' 'devices/*.cpp' | xargs -P $(JOBS) -n 1 $(BIN)/clang-tidy -p build --quiet

sanitize: build
	JOBS=$(JOBS) tests/sanitize/run.sh address,undefined
	JOBS=$(JOBS) tests/sanitize/run.sh thread

clean:
	rm -rf build build-asan build-tsan $(DEVICES:%=%/build) dist .venv
