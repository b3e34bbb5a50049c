# make help lists the targets.

VERSION := 0.1.0
BUILD ?= build
CC ?= cc
PREFIX ?= /usr/local
PYTHON ?= python3

PACKAGES := lua5.4 libprotobuf-c libcjson minizip
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wpointer-arith $(if $(WERROR),-Werror)
OPTIMISE ?= -O2
CPPFLAGS += -D_GNU_SOURCE -DT2O_VERSION='"$(VERSION)"' -Isrc -I$(BUILD)/gen
CFLAGS += -std=c11 -g $(OPTIMISE) $(WARNINGS) $(SANITIZE)
LDFLAGS += $(SANITIZE) $(if $(STATIC),-static)

SOURCES := $(sort $(wildcard src/*/*.c))
SHIPPED := $(sort $(wildcard lua/t2o/*.lua python/*.py) $(shell find rules -name '*.lua' 2>/dev/null))
GENERATED := $(BUILD)/gen/onnx.pb-c.c $(BUILD)/gen/embedded.c
OBJECTS := $(SOURCES:src/%.c=$(BUILD)/obj/%.o) $(GENERATED:$(BUILD)/gen/%.c=$(BUILD)/obj/gen/%.o)
LIBRARY := $(filter-out $(BUILD)/obj/cli/main.o,$(OBJECTS))
TESTS := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/test_*.c))
VENV := $(if $(filter build,$(BUILD)),build/venv,$(abspath build/venv))

all: $(BUILD)/t2o

help:
	@echo 'make            the binary, build/t2o (STATIC=1: without shared libraries)'
	@echo 'make demo       set up, build, convert a trained digit classifier and measure it'
	@echo 'make test       set up, build and run the tests (no PyTorch needed)'
	@echo 'make check      everything CI runs but the models: test, lint, sanitizers, examples'
	@echo 'make ops        all 6,388 cases of the op database (make test runs two of each kind)'
	@echo 'make models     convert networks with PyTorch at hand (installs torch into build/)'
	@echo 'make bench      speed and memory as ratios'
	@echo 'make debug asan fuzz format lint docs install clean'

# ---- dependencies ----

-include $(BUILD)/deps.mk
$(BUILD)/deps.mk: tools/deps.sh
	@mkdir -p $(BUILD)
	@sh tools/deps.sh build
	@printf 'CFLAGS += %s\nLDLIBS += %s\n' "`pkg-config --cflags $(PACKAGES)`" \
	  "`pkg-config $(if $(STATIC),--static) --libs $(PACKAGES)` -lm" > $@

# ---- the binary ----

ifdef STATIC
ifeq ($(shell printf 'int main(void){return 0;}' | $(CC) -static -x c - -lcjson -o /dev/null 2>/dev/null && echo yes),)
$(error STATIC=1 needs libcjson.a, which Debian does not ship: build cJSON with -DBUILD_SHARED_LIBS=OFF and install it)
endif
endif

$(BUILD)/t2o: $(OBJECTS)
	$(CC) $(LDFLAGS) -o $@.$$$$ $^ $(LDLIBS) && mv $@.$$$$ $@

$(BUILD)/obj/%.o: src/%.c $(BUILD)/gen/onnx.pb-c.h
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -w -MMD -MP -c -o $@ $<

$(BUILD)/gen/onnx.pb-c.c $(BUILD)/gen/onnx.pb-c.h &: proto/onnx.proto
	@mkdir -p $(BUILD)/gen
	cd proto && protoc-c --c_out=$(abspath $(BUILD))/gen onnx.proto

$(BUILD)/gen/precompile: tools/precompile.c
	@mkdir -p $(BUILD)/gen
	$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $< $(LDFLAGS) $(LDLIBS)

$(BUILD)/gen/embedded.c: tools/embed.sh $(BUILD)/gen/precompile $(SHIPPED)
	@mkdir -p $(addprefix $(BUILD)/gen/code/,$(sort $(dir $(SHIPPED))))
	@$(BUILD)/gen/precompile $(BUILD)/gen/code $(filter %.lua,$(SHIPPED))
	@sh tools/embed.sh $(BUILD)/gen/code $(SHIPPED) > $@

-include $(OBJECTS:.o=.d)

debug:
	$(MAKE) BUILD=build/debug OPTIMISE=-O0

asan:
	$(MAKE) BUILD=build/asan OPTIMISE=-O1 SANITIZE='-fsanitize=address,undefined -fno-omit-frame-pointer' \
	  build/asan/t2o unit-asan
	$(MAKE) venv
	T2O=build/asan/t2o ASAN_OPTIONS=detect_leaks=1 $(VENV)/bin/python -m pytest -q -n 2 tests/e2e

# ---- tests ----

venv: build/venv/ready
build/venv/ready: tests/requirements.txt tools/deps.sh
	@sh tools/deps.sh python
	$(PYTHON) -m venv build/venv
	build/venv/bin/pip install -q --disable-pip-version-check -r tests/requirements.txt
	@touch $@

$(BUILD)/unit/%: tests/unit/%.c $(LIBRARY)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $< $(LIBRARY) $(LDFLAGS) $(LDLIBS) -lcmocka

ops: $(BUILD)/t2o venv
	T2O_OPS=all $(VENV)/bin/python -m pytest -q tests/ops

unit: $(TESTS)
	@for t in $(TESTS); do ./$$t || exit 1; done

unit-asan: $(TESTS)
	@for t in $(TESTS); do ASAN_OPTIONS=detect_leaks=0 ./$$t || exit 1; done

test: $(BUILD)/t2o unit venv
	$(VENV)/bin/python -m pytest -q -n 2 --dist loadfile tests

demo: $(BUILD)/t2o venv
	T2O=$(BUILD)/t2o PYTHON=$(VENV)/bin/python sh examples/digits/run.sh

examples: $(BUILD)/t2o venv
	@for e in examples/*/run.sh; do echo "== $$e"; T2O=$(abspath $(BUILD)/t2o) PYTHON=$(VENV)/bin/python sh $$e || exit 1; done

check: test lint asan examples docs-fresh

lint: $(BUILD)/t2o
	sh tools/lint.sh

models: $(BUILD)/t2o
	sh tests/torch/run.sh

bench: $(BUILD)/t2o venv
	$(VENV)/bin/python tests/bench/bench.py

fuzz: asan
	sh tests/fuzz/run.sh

format:
	@command -v clang-format >/dev/null || { echo 'SKIP format: clang-format (Debian package clang-format)'; exit 0; }; \
	clang-format -i $(SOURCES) $(wildcard src/*/*.h)

docs: $(BUILD)/t2o
	sh tools/docs.sh docs

docs-fresh: $(BUILD)/t2o
	sh tools/docs.sh $(BUILD)/docs && diff -r docs $(BUILD)/docs

install: $(BUILD)/t2o
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/t2o
	install -m 755 $(BUILD)/t2o $(DESTDIR)$(PREFIX)/bin/t2o
	cp -r lua rules python $(DESTDIR)$(PREFIX)/share/t2o/

clean:
	rm -rf build

.PHONY: all help debug asan venv unit unit-asan ops test demo examples check lint models bench fuzz format docs docs-fresh \
  install clean
