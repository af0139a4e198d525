# Every target but those for GPUs makes the virtual environment .venv and installs what it needs; nothing but Python >= 3.11 and make
# has to be there. `make` alone lists the targets.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Processes that the tests are spread over.
JOBS ?= 2
# More arguments for pytest, for example: make test ARGS='-k haar'
ARGS ?=
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

# Installs what is not Python's, where that is possible.
INSTALL_DEBIAN := >/dev/null 2>&1 apt-get update --quiet=2 && \
	>/dev/null 2>&1 apt-get install --quiet=2 --yes --no-install-recommends

# A machine with a GPU has its own CuPy and Torch, and often no way to install others.
ON_GPU := PYTHONPATH=src $(PYTHON)
SANITIZER ?= compute-sanitizer

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Two installations into one environment at a time would break it.
.NOTPARALLEL:
.PHONY: help demo test test-quick kernels wheel fuzz pictures test-gpu sanitize-gpu lint format docs bench hooks clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.demo kernels ## denoise the bundled photograph and clip: results under out/, tables on the screen
	@$(BIN)/subband demo --output out --force

test: $(VENV)/.test $(VENV)/.torch $(VENV)/.opencl $(VENV)/.openjph $(VENV)/.browser kernels ## run everything: ruff, mypy, tests and doctests
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/python -m pytest --numprocesses $(JOBS) --dist worksteal --durations 10 $(ARGS)

test-quick: $(VENV)/.test $(VENV)/.torch kernels ## run some of the tests in three minutes: conftest.py says which
	@$(BIN)/python -m pytest --quick --numprocesses $(JOBS) --dist worksteal $(ARGS)

# Those whose sources have not changed are kept.
kernels: $(VENV)/.made ## compile the kernels for this processor, so that nothing has to be compiled when it is called
	@test -e $(VENV)/.demo -o -e $(VENV)/.test || $(MAKE) --no-print-directory $(VENV)/.demo
	@$(BIN)/python -m subband.compiled.building --here src/subband/compiled/objects

wheel: $(VENV)/.made ## build a wheel with kernels for every level of this machine's processors: dist/
	@SUBBAND_BUILD_KERNELS=all $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

fuzz: $(VENV)/.test ## decode twenty thousand damaged JPEG 2000 files, and as many streams and packets of VC-2
	@$(BIN)/python tests/codecs/fuzz.py 20000
	@$(BIN)/python tests/codecs/fuzz_vc2.py 20000

pictures: $(VENV)/.test $(VENV)/.browser ## take the pictures of the studio and of the pages anew
	@$(BIN)/python -m pytest -q tests/studio/test_access.py tests/studio/test_tools.py
	@cp out/studio-light.jpg out/studio-dark.jpg out/studio-surface.jpg docs/images
	@$(BIN)/python docs/draw_animation.py
	@$(BIN)/python docs/draw_editing.py
	@$(BIN)/python docs/draw_surfaces.py
	@$(BIN)/python docs/draw_figures.py
	@$(BIN)/python docs/draw_tutorials.py
	@$(BIN)/python docs/draw_landing.py

test-gpu: ## run the tests that need an NVIDIA GPU, with the machine's own Python and what it has installed
	@$(ON_GPU) tests/gpu/spread.py $(ARGS)

sanitize-gpu: ## look for stray accesses and races in the CUDA kernels, with NVIDIA's compute-sanitizer
	@for tool in memcheck racecheck; do \
	  echo "compute-sanitizer --tool $$tool"; \
	  PYTHONPATH=src $(SANITIZER) --tool $$tool --error-exitcode 86 --target-processes all \
	    $(PYTHON) tests/gpu/sanitized.py || exit 1; \
	done

lint: $(VENV)/.lint ## run ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.lint ## repair what ruff can repair
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.docs $(VENV)/.torch ## build the documentation: site/index.html
	@$(BIN)/python docs/write_cli_page.py
	@$(BIN)/python docs/write_settings.py
	@$(BIN)/python docs/draw_charts.py
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs site
	@echo "site/index.html"

bench: $(VENV)/.bench ## measure against PyWavelets and a plain copy, on this machine
	@$(BIN)/subband bench cpu

hooks: $(VENV)/.lint ## run ruff and mypy before each commit
	@$(BIN)/pre-commit install

clean: ## remove what the other targets made, but for .venv
	rm -rf build dist out site docs/gallery docs/reference .mypy_cache .ruff_cache .pytest_cache .hypothesis src/subband/compiled/objects
	find src tests docs -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "subband needs Python 3.11 or later, and $(PYTHON) is not; try: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "$(PYTHON) cannot make a virtual environment; on Debian: apt install python3-venv" >&2; exit 1; }
	@touch $@

# The package is installed in place, so that Numba keeps its compiled code beside the sources.
$(VENV)/.demo: $(VENV)/.made pyproject.toml
	@$(INSTALL) '.[video]'
	@touch $@

# The build without CUDA, which would bring gigabytes, and two libraries that subband is compared with, which need it;
# one of them imports a part of setuptools that is no longer there.
# Where there is none, the tests of Torch are left out, and the documentation describes our modules for it all the same.
$(VENV)/.torch: $(VENV)/.made
	@if $(BIN)/python -m pip install --quiet --disable-pip-version-check --retries 1 \
	  --extra-index-url https://download.pytorch.org/whl/cpu 'torch==2.13.0+cpu'; \
	then $(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  ptwt pytorch-wavelets 'setuptools<81' || true; \
	else echo "tests of Torch are left out" >&2; fi
	@touch $@

# The tests of the studio drive a real browser. Debian's is installed where that is possible; elsewhere any Chromium will
# do, and without one those tests are left out.
$(VENV)/.browser: $(VENV)/.test
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	  { $(INSTALL_DEBIAN) chromium; } || \
	  echo "tests in a browser are left out: install chromium for them" >&2
	@touch $@

# The PoCL of PyPI compiles nothing for processors that are newer than itself. Debian's does, and is installed where that
# is possible; without one, tests of OpenCL are left out.
$(VENV)/.opencl: $(VENV)/.test
	@$(BIN)/python -m subband.testing.opencl >/dev/null 2>&1 || \
	  { $(INSTALL_DEBIAN) pocl-opencl-icd; } || \
	  echo "tests of OpenCL are left out: no device here compiles a kernel" >&2
	@touch $@

# OpenJPH's own programs write what imagecodecs has no options for.
$(VENV)/.openjph: $(VENV)/.made
	@command -v ojph_compress >/dev/null || { $(INSTALL_DEBIAN) openjph-tools; } || \
	  echo "tests with OpenJPH's programs are left out: install openjph-tools for them" >&2
	@touch $@

$(VENV)/.test: $(VENV)/.made pyproject.toml
	@$(INSTALL) '.[test,kernels]'
	@touch $@

$(VENV)/.lint $(VENV)/.docs $(VENV)/.bench: $(VENV)/.%: $(VENV)/.made pyproject.toml
	@$(INSTALL) '.[$*]'
	@touch $@
