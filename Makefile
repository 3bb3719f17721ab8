# Everything installed goes into .venv, everything built into build directories, wheels into dist/.
#   make demo        set up, build, train two small models on the default device
#   make test        set up, build, run all tests
#   make test-full   the same, with every sample of every operator, and with the earliest PyTorch that is served
#   make wheel       set up, build, pack the core and each device into dist/
#   make bench       set up, build, measure what torchplug costs (four minutes, of which compilers take one; nothing else should run)
#   make bench-xcpu  set up, build, measure the operators of xcpu, beside the peers that are there
#   make peers       the packages that xcpu is measured beside, each with a PyTorch of its own, into build/peers
#   make lint        clang-tidy over the core and the plugins (a quarter of an hour)
#   make mutants     how many of the faults of tests/mutants the tests find (half an hour)
#   make sanitize    build and test with ASan and UBSan, then with TSan (20 minutes)

PYTHON ?= python3
TORCH ?= torch==2.13.0
EARLIEST := 2.11.0
BIN := .venv/bin
DEBIAN := $(CURDIR)/.venv/debian
JOBS := $(shell nproc)
# Hundreds of processes import the same Python files: what is compiled is kept, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE
# What does not depend on each other is done at the same time: what the tests need is installed while the core compiles.
MAKEFLAGS += --jobs=$(JOBS)

# What a demo has, and what is tested and packed besides.
DEVICES := devices/sim examples/hello
PACKAGES := $(DEVICES) devices/xcpu

CPP_FILES = $(shell git ls-files '*.c' '*.h' '*.cpp' '*.hpp')
# Threads that wait leave the processors to the other workers; what a file prepares for its tests is made once.
PYTEST = OMP_WAIT_POLICY=passive $(BIN)/pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder
# Run once more with every call into the plugin checked.
VALIDATED := $(patsubst %,tests/python/test_%.py,asynchrony copy graphs training)

.PHONY: setup setup-tests setup-lint build build-devices build-xcpu build-tests wheel check test test-full test-release demo \
  bench bench-xcpu peers lint mutants sanitize clean

# What a build needs, what tests need, what clang-tidy needs: each is installed when it is first asked for. Of the
# Python files, most are never imported: those that are, Python compiles itself.
PIP_INSTALL := $(BIN)/pip install --quiet --no-compile

.venv/tools: requirements-build.txt
	@echo "Installing what builds torchplug into .venv"
	$(PYTHON) -m venv .venv
	$(PIP_INSTALL) -r $<
	touch $@

setup: .venv/ready
.venv/ready: .venv/tools
	@echo "Installing $(TORCH) into .venv"
	$(PIP_INSTALL) '$(TORCH)'
	touch $@

setup-tests: .venv/ready-tests
.venv/ready-tests: .venv/ready requirements-dev.txt tests/clients/requirements.txt tools/fetch_debian.sh
	@echo "Installing what the tests need into .venv"
	$(PIP_INSTALL) -r requirements-dev.txt -r tests/clients/requirements.txt
	tools/fetch_debian.sh $(DEBIAN)
	touch $@

setup-lint: .venv/ready-lint
.venv/ready-lint: .venv/ready requirements-lint.txt
	$(PIP_INSTALL) -r requirements-lint.txt
	touch $@

# With the tools in .venv. Every package keeps its build tree, so that installing and packing compile once.
WITH_TOOLS := MAKEFLAGS= PATH=$(CURDIR)/$(BIN):$$PATH CMAKE_PREFIX_PATH=$(DEBIAN)/usr CMAKE_GENERATOR=Ninja
PACK := --verbose --no-build-isolation --no-deps

# Devices know nothing of PyTorch: they compile while it is installed.
build-devices: .venv/tools
	@$(WITH_TOOLS) tools/progress devices $(BIN)/pip install $(PACK) $(DEVICES:%=./%)

build-xcpu: .venv/tools
	@$(WITH_TOOLS) tools/progress xcpu $(BIN)/pip install $(PACK) ./devices/xcpu

build: setup build-devices
	@$(WITH_TOOLS) tools/progress torchplug $(BIN)/pip install $(PACK) --editable .

define compile_tests
	@$(WITH_TOOLS) cmake -S . -B build -DTORCHPLUG_TESTS=ON -DTORCHPLUG_SIM=$(CURDIR)/devices/sim/build/libsim.so >build/configure-tests.log
	@$(WITH_TOOLS) tools/progress tests cmake --build build --target all
endef

build-tests: build build-xcpu setup-tests
	$(compile_tests)

wheel: build build-xcpu
	rm -rf dist
	@$(WITH_TOOLS) tools/progress wheels $(BIN)/pip wheel $(PACK) --wheel-dir dist $(PACKAGES:%=./%) .

check: build setup-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict torchplug benchmarks
	@echo "clang-format of $(words $(CPP_FILES)) files"
	@$(BIN)/clang-format --dry-run --Werror $(CPP_FILES)

test: check wheel
	$(compile_tests)
	$(BIN)/ctest --test-dir build --output-on-failure --parallel $(JOBS)
	TORCHPLUG_DEVICE=hello $(PYTEST) tests/python tests/operators tests/distributed
	TORCHPLUG_DEVICE=sim $(PYTEST) tests
	TORCHPLUG_DEVICE=sim TORCHPLUG_LAYERS=validate $(PYTEST) $(VALIDATED)

test-full: export TORCHPLUG_TEST_SWEEP = all
test-full: VALIDATED += $(patsubst %,tests/python/test_%.py,compile compile_models compile_training)
test-full: test
	TORCHPLUG_TEST_SWEEP= tests/releases/run.sh $(EARLIEST)

# What is committed, with another PyTorch: make test-release RELEASE=2.12.0
test-release:
	tests/releases/run.sh $(RELEASE)

demo: build
	$(BIN)/python -m torchplug.demo

bench: build
	$(BIN)/cmake --build build --target direct direct_any operators allocator package
	$(BIN)/python -m benchmarks

bench-xcpu: build build-xcpu
	$(BIN)/torchplug bench --xcpu --json build/bench-xcpu.json

# What these packages ask of pip would bring another PyTorch, or servers: what they need is in the files.
PEERS := $(patsubst benchmarks/peers/%.txt,%,$(wildcard benchmarks/peers/*.txt))
peers: $(PEERS:%=build/peers/%/ready)
build/peers/%/ready: benchmarks/peers/%.txt
	@echo "Installing $(TORCH) and $* into $(@D)"
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --no-compile '$(TORCH)'
	$(@D)/bin/pip install --quiet --no-compile --no-deps -r $<
	touch $@

lint: setup setup-lint
	@for unity in OFF ON; do \
	  $(WITH_TOOLS) cmake -S . -B build-lint/unity-$$unity -DTORCHPLUG_UNITY=$$unity \
	    -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python --log-level=WARNING || exit; done
	$(BIN)/python tools/lint.py --alone build-lint/unity-OFF --grouped build-lint/unity-ON --jobs $(JOBS)

mutants: build setup-tests
	$(BIN)/python tests/mutants --jobs $(JOBS)

sanitize: build setup-tests
	JOBS=$(JOBS) tests/sanitize/run.sh address,undefined
	JOBS=$(JOBS) tests/sanitize/run.sh thread

clean:
	rm -rf build build-lint build-asan build-tsan build-mutants $(PACKAGES:%=%/build) dist .venv
