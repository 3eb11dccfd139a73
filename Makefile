# What can be done with this tree. `make` alone lists it.
# Only Go and make are needed for: run demo build test bench examples. `make check`
# builds its linter; `make test-external` needs npm.

SHELL := /bin/sh
.DEFAULT_GOAL := help

GO     ?= go
CACHE  := $(CURDIR)/.cache
BIN    := $(CACHE)/bin
BINARY := $(CACHE)/looprig

# Nothing here needs C but the race detector. Without it the binary is static and
# starts faster, and what is compiled for one target is there for all others.
export CGO_ENABLED := 0

BUILD := $(GO) build

GOLANGCI_VERSION := v2.15.0
GOLANGCI := $(BIN)/golangci-lint-$(GOLANGCI_VERSION)

# COUNTS=FILE adds the outcome of every test to FILE (see internal/tools/testcount).
ifdef COUNTS
GOTEST := $(BIN)/testcount -sum $(COUNTS) $(GO) test
GOTEST_DEPS := $(BIN)/testcount
else
GOTEST := $(GO) test
GOTEST_DEPS :=
endif

# What is vetted on its own is not vetted again with the tests.
NO_VET := -vet=off

# Packages whose tests only start programs that are built without the race detector:
# it would watch the tests and nothing else. They run in `make test`.
UNRACED := ./cmd/looprig ./mcpadapter/internal/acceptance

# No package's tests may take longer.
TEST_TIMEOUT := 3m
RACE_TIMEOUT := 8m
FUZZ_TOTAL   ?= 45s
FUZZ_EACH    ?= 4s

# with_home COMMAND: run with a home that is gone afterwards.
with_home = home=$$(mktemp -d) && trap 'rm -rf "$$home"' EXIT && trap 'exit 130' INT TERM HUP && LOOPRIG_HOME="$$home" XDG_STATE_HOME="$$home/state" $(1)

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | sort | awk -F'\t' '{printf "  %-18s %s\n", $$1, $$2}'

# --- use -------------------------------------------------------------------

.PHONY: run demo build screenshot
run: $(CACHE)/.gitignore ## open the interface on the embedded demo, with a temporary home
	@$(BUILD) -o $(BINARY) ./cmd/looprig
	@$(call with_home,$(BINARY))

demo: $(CACHE)/.gitignore ## run the first-run script headless and print it as text
	@$(BUILD) -o $(BINARY) ./cmd/looprig
	@$(call with_home,$(BINARY) --headless --script examples/first-run.yaml)

build: ## build bin/looprig, stripped
	$(BUILD) -trimpath -ldflags '-s -w' -o bin/looprig ./cmd/looprig

screenshot: $(CACHE)/.gitignore ## draw docs/screenshots from the real binary
	@$(BUILD) -o $(BINARY) ./cmd/looprig
	@$(GO) run ./internal/tools/screenshot -binary $(BINARY) -out docs/screenshots

# --- test ------------------------------------------------------------------

.PHONY: test test-integration test-external compatibility examples bench
test: $(GOTEST_DEPS) ## unit and integration tests
	$(GOTEST) $(NO_VET) -timeout $(TEST_TIMEOUT) -tags integration ./...

test-integration: $(GOTEST_DEPS) ## the integration tests alone (and the unit tests of their packages)
	@dirs=$$(find . -name '*integration*_test.go' -not -path './.cache/*' -exec dirname {} + | sort -u); \
	if [ -z "$$dirs" ]; then echo "test-integration: no integration tests"; exit 0; fi; \
	set -x; $(GOTEST) -timeout $(TEST_TIMEOUT) -tags integration $$dirs

test-external: $(CACHE)/npm/installed $(GOTEST_DEPS) ## tests against published servers (installs them with npm)
	@dirs=$$(find . -name '*external*_test.go' -not -path './.cache/*' -exec dirname {} + | sort -u); \
	if [ -z "$$dirs" ]; then echo "test-external: no external tests"; exit 0; fi; \
	export LOOPRIG_NPM_BIN=$(CACHE)/npm/node_modules/.bin; \
	set -x; $(GOTEST) -timeout $(RACE_TIMEOUT) -tags external $$dirs

compatibility: $(CACHE)/npm/installed ## write docs/compatibility.md from what the servers do
	LOOPRIG_NPM_BIN=$(CACHE)/npm/node_modules/.bin LOOPRIG_UPDATE=1 $(GO) test -count 1 -timeout $(RACE_TIMEOUT) -tags external -run '^TestCompatibility$$' ./internal/conformance

examples: $(CACHE)/.gitignore $(GOTEST_DEPS) ## run the example programs and every example script
	$(GOTEST) -timeout $(TEST_TIMEOUT) -tags integration ./examples/...
	@$(BUILD) -o $(BINARY) ./cmd/looprig
	@for script in examples/*.yaml; do \
		[ -e "$$script" ] || continue; \
		echo "== $$script"; \
		( $(call with_home,$(BINARY) --headless --script "$$script" --output json) ) > $(CACHE)/example.ndjson || exit $$?; \
		tail -n 1 $(CACHE)/example.ndjson; \
	done

bench: ## every benchmark, with allocations
	$(GO) test -run '^$$' -bench . -benchmem ./...

# --- check -----------------------------------------------------------------

.PHONY: secure check format-check lint vet vulncheck race faults fuzz-short generate generate-check
secure: format-check $(GOTEST_DEPS) ## the fast gate before a commit: format, vet, lint, leak guard, secrets, unit tests
	$(GO) vet ./...
	@if [ -x $(GOLANGCI) ]; then $(GOLANGCI) run ./...; else echo "lint: skipped: not installed (make lint installs it)"; fi
	$(GOTEST) $(NO_VET) -timeout $(TEST_TIMEOUT) ./internal/archtest
	$(GOTEST) $(NO_VET) -timeout $(TEST_TIMEOUT) -run 'Secret|Canary|Redact' ./...
	$(GOTEST) $(NO_VET) -timeout $(TEST_TIMEOUT) ./...

check: format-check generate-check lint vet vulncheck race fuzz-short ## everything that must hold before a change lands

format-check:
	@files=$$(git ls-files -co --exclude-standard '*.go' | grep -v /testdata/ | while read -r f; do [ -e "$$f" ] && echo "$$f"; done | xargs gofmt -l); \
	if [ -n "$$files" ]; then echo "not formatted (gofmt -w):"; echo "$$files"; exit 1; fi

lint: $(GOLANGCI) ## golangci-lint
	$(GOLANGCI) run ./...

vet: ## go vet for every system that must compile
	GOOS=linux   $(GO) vet -tags integration,external ./...
	GOOS=darwin  $(GO) vet ./...
	GOOS=windows $(GO) vet ./...

vulncheck: ## govulncheck, where its database can be reached
	@$(GO) run ./internal/tools/vulncheck

race: $(GOTEST_DEPS) ## unit and integration tests with the race detector, which needs a C compiler
	@set -- $$($(GO) env CC); if ! command -v "$$1" >/dev/null; then \
		echo "race: left out: the race detector needs a C compiler, and there is no $$1"; exit 0; \
	fi; \
	all=$$($(GO) list -tags integration ./...) && unraced=$$($(GO) list -tags integration $(UNRACED)) && \
	raced=$$(echo "$$all" | grep -vxF "$$unraced") && \
	CGO_ENABLED=1 LOOPRIG_LIVE_ROUNDS=200 $(GOTEST) -race $(NO_VET) -timeout $(RACE_TIMEOUT) -tags integration $$raced

# FAULTS_FOR bounds the kills of the binary; those of the store take what they take.
FAULTS_FOR ?= 60m
faults: $(GOTEST_DEPS) ## the whole fault sweeps over the binary and the store; takes long
	LOOPRIG_FAULTS=full LOOPRIG_FAULTS_FOR=$(FAULTS_FOR) $(GOTEST) -v -timeout 120m -tags integration -run Sweep ./mcpadapter/internal/acceptance
	LOOPRIG_FAULTS=full $(GOTEST) -timeout 60m -tags integration -run 'Killed|Failing|Longest|Tiny|Eight|Cut|Flipped' ./harness/journal/sqlite

fuzz-short: ## every fuzz target for a few seconds
	$(GO) run ./internal/tools/fuzzshort -total $(FUZZ_TOTAL) -each $(FUZZ_EACH)

generate: ## write what is generated from the code
	$(GO) generate ./...

generate-check: ## fail when something generated is stale
	@state() { git status --porcelain; git diff HEAD; }; \
	before=$$(state); $(GO) generate ./... && after=$$(state); \
	if [ "$$before" != "$$after" ]; then git status --short; echo "generated files are stale: run make generate"; exit 1; fi

# --- tools -----------------------------------------------------------------

.PHONY: install-tools
install-tools: $(GOLANGCI) $(CACHE)/npm/installed ## what check and test-external install, and nothing else

# Everything in the cache directory is ignored by git, and by go.
$(CACHE)/.gitignore:
	@mkdir -p $(BIN)
	@echo '*' > $@

$(GOLANGCI): | $(CACHE)/.gitignore
	GOBIN=$(BIN) GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv $(BIN)/golangci-lint $@

$(BIN)/testcount: $(wildcard internal/tools/testcount/*.go) | $(CACHE)/.gitignore
	@$(GO) build -o $@ ./internal/tools/testcount

$(CACHE)/npm/installed: internal/external/package.json internal/external/package-lock.json | $(CACHE)/.gitignore
	@command -v npm >/dev/null || { echo "test-external needs npm"; exit 1; }
	@mkdir -p $(CACHE)/npm
	@cp $^ $(CACHE)/npm/
	npm --prefix $(CACHE)/npm ci --ignore-scripts --no-audit --no-fund
	@touch $@
