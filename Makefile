# Troupe. Every target does its own set-up; `make help` lists them.
#
# Needed: Go (an older one fetches what go.mod asks for). Used when there: git, for the
# version, and a C compiler, for the race detector.

GO            ?= go
GOLANGCI      := v2.12.2
# A count of inputs, not a time: go test sometimes reports the end of its own -fuzztime as a
# failure ("context deadline exceeded").
FUZZTIME      ?= 5000x
BENCHTIME     ?= 1s
# The end-to-end benchmark: a main package, run after the packages' own benchmarks once it
# is there. BENCHARGS go to it.
BENCHMAIN     ?= ./internal/bench
BENCHARGS     ?=
# Where all results go, for machines to read.
BENCHJSON     ?= bin/bench.json
# The packages that a run with -short tests only in part, the longest first. They run whole without the
# race detector, under which they would take five to ten times as long.
WHOLE         := ./internal/e2e ./internal/workspace/worktree ./internal/sandbox ./internal/app ./internal/sim \
	./internal/session ./internal/store/sqlite ./internal/hidden ./internal/cli/home ./internal/model/openai ./internal/model/anthropic \
	./internal/tool/search ./internal/tool/web ./scripts/demoserver
# Those of them in which the race detector may find something, and all others; the longest first here too.
RACED          = $(filter-out %/e2e %/archtest,$(WHOLE)) $$($(GO) list ./... | grep -vE '/internal/(e2e|archtest)$$')
# For both runs of `make test`, such as -count=1; and how often test-soak makes them.
TESTFLAGS     ?=
N             ?= 20
# What `make torture` does, and SEED draws it again.
KILLS         ?= 100
AGENTS        ?= 300
# How the picture in the README is taken.
PICTURE       ?= docs/demo.svg
COLUMNS_SHOWN ?= 100

# The version comes from `git describe` below, so the build never has to ask git itself:
# that would fail in a checkout that belongs to another user.
export GOFLAGS := $(strip $(filter-out -buildvcs=%,$(GOFLAGS)) -buildvcs=false)

VERSION := $(or $(shell git describe --tags --always --dirty 2>/dev/null),dev)
LINT    := bin/tools/golangci-lint-$(GOLANGCI)
# go test, and which tests were skipped and why, for the summary at the end.
SKIPS   := $(GO) run ./scripts/skips -o bin/skips.txt
# Go turns cgo off by itself where there is no C compiler, and -race needs cgo.
RACE     = $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)
# SQLite itself is C that was translated to Go, with memory and locks of its own: the detector finds nothing of ours
# there, and made tests with a database take five times as long. Its driver, and all else, is watched.
UNRACED := -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc/...=-race=false

.DEFAULT_GOAL := build
.PHONY: help build demo demo-server test test-whole test-raced test-skipped test-soak test-long test-projects test-corpus test-tmux test-mcp test-postgres torture fmt lint bench fuzz picture loc clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 18

build: ## bin/troupe
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/troupe ./cmd/troupe

# The demo's agents run `go test`. With the flags of the build it finds the standard library
# compiled, which saves ten seconds on a fresh machine.
demo: build ## a whole run in a temporary folder, offline and without a key
	@GOFLAGS='$(GOFLAGS) -trimpath' bin/troupe demo

demo-server: build ## a server and two workers on PostgreSQL; one dies, the other goes on with its agents; a temporary folder
	@$(GO) run ./scripts/demoserver bin/troupe

# Two runs. What drives other processes, and what plays thousands of cases on one goroutine, has nothing for
# the race detector to find beyond the few that -short leaves to the second run; archtest runs nothing side
# by side. The longest packages come first: go test starts them in the order given. The linter has vetted all.
# Without the symbols for debuggers, which the detector's reports do not need, the second run links faster.
test: ## everything a change must pass; says how long each part took
	@for part in lint build test-whole test-raced test-skipped; do \
		from=$$(date +%s); $(MAKE) --no-print-directory $$part || exit 1; \
		took="$$took  $$part $$(($$(date +%s) - from)) s"; \
	done; echo "Took:$$took"

test-whole: build
	@rm -f bin/skips.txt
	TROUPE_E2E_BINARY=$(CURDIR)/bin/troupe $(SKIPS) $(GO) test $(TESTFLAGS) -vet=off -timeout 20m -parallel 4 $(WHOLE)

test-raced:
	@[ -n "$(RACE)" ] || echo "No C compiler here (Debian: apt-get install gcc libc6-dev): the tests run WITHOUT the race detector."
	$(SKIPS) $(GO) test $(TESTFLAGS) -short $(RACE) $(if $(RACE),$(UNRACED)) -ldflags='-s -w' -vet=off -timeout 15m $(RACED)

test-skipped:
	@$(GO) run ./scripts/skips -show bin/skips.txt

test-soak: build ## both runs of `make test`, N times (20) beside two busy loops; a line for each, also in bin/soak.txt
	$(GO) run ./scripts/soak -n $(N) -o bin/soak.txt $(MAKE) -k --no-print-directory test-whole test-raced TESTFLAGS=-count=1

test-long: build ## what takes longer: all attacks on every kernel, 5,000 agents in one reply, and many more kills and seeds
	TROUPE_E2E_BINARY=$(CURDIR)/bin/troupe TROUPE_ALL_ATTACKS=1 TROUPE_ALL_AGENTS=1 $(GO) test -timeout 90m -parallel 4 ./internal/e2e ./internal/sandbox
	TROUPE_ALL_WORKTREES=1 $(GO) test -timeout 90m ./internal/workspace/worktree
	TROUPE_ALL_AGENTS=1 $(GO) test -timeout 90m ./internal/session -run 'TestClaims$$'
	$(GO) test -timeout 90m ./internal/sim -seeds 200000
	$(GO) test $(RACE) $(if $(RACE),$(UNRACED)) -timeout 90m ./internal/sim -run 'TestSeeds$$' -seeds 10000

# go mod tidy also reads modules that only tests of others want. Where those cannot be fetched it
# finds nothing out, and what is wrong with ours the build has said.
#
# The linter's cache lies in the checkout: results carry the paths of the files they were found in, so
# in a cache that two checkouts share, the exceptions that go by path miss.
lint: $(LINT) ## golangci-lint, built on first use, whether go.mod is tidy, and the floors and sizes (internal/archtest)
	@$(GO) mod tidy -diff > bin/tidy.diff 2> bin/tidy.err || { cat bin/tidy.diff; [ ! -s bin/tidy.diff ] || { echo "go.mod is not tidy: go mod tidy"; exit 1; }; \
		echo "Whether go.mod is tidy was NOT looked at: $$(tail -n 1 bin/tidy.err)"; }
	GOLANGCI_LINT_CACHE=$(CURDIR)/bin/tools/lint-cache $(LINT) run --allow-parallel-runners ./...
	$(GO) test -vet=off ./internal/archtest

# UPDATE=1 writes docs/projects.md; NAME=go runs one of the projects. Rows of programs that are missing stay as they are.
test-projects: build ## everyday commands in real-shaped projects, against docs/projects.md
	TROUPE_E2E_BINARY=$(CURDIR)/bin/troupe $(GO) test -count=1 -timeout 90m -parallel 4 ./internal/e2e \
		-run '^TestProjects$$$(if $(NAME),/commands/$(NAME)$$)' -args -projects $(if $(UPDATE),-update)

test-corpus: build ## each agent file below DIR is loaded, or says why not (without DIR: those of our own)
	TROUPE_E2E_BINARY=$(CURDIR)/bin/troupe $(GO) test -count=1 -timeout 10m ./internal/e2e -run '^TestCorpus$$' -v \
		$(if $(DIR),-args -corpus $(abspath $(DIR)))

test-tmux: build ## the panes of a team in a real tmux; `make test` does it too, where tmux is
	@command -v tmux >/dev/null || { echo 'no tmux: the panes of a team are NOT tested (Debian: apt install tmux)' >&2; exit 1; }
	TROUPE_E2E_BINARY=$(CURDIR)/bin/troupe $(GO) test -count 1 -timeout 10m ./internal/e2e -run '^TestPain40|^TestTmux' -v

test-mcp: ## the public MCP servers and the conformance suite, from npm; says so when Node is missing
	TROUPE_TEST_NPM=1 $(GO) test ./internal/e2e -run '^TestNPM|^TestConformance' -count 1 -v

test-postgres: build ## sessions in a real PostgreSQL server, which is installed first on Debian as root
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || apt-get install -y -qq postgresql
	$(GO) test ./internal/store/postgres -count 1
	TROUPE_E2E_BINARY=$(CURDIR)/bin/troupe $(GO) test ./internal/e2e -run '^TestScriptsPostgres' -count 1

# KEEP=DIR keeps all of a run that fails. A short one is in `make test`: TestTorture.
torture: N = 1
torture: build ## three workers and a server on PostgreSQL are killed, stopped and cut off under 300 agents (KILLS, AGENTS, N, SEED)
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || \
		{ echo 'no PostgreSQL: NOTHING is tortured (Debian: apt install postgresql)' >&2; exit 1; }
	TROUPE_E2E_BINARY=$(CURDIR)/bin/troupe $(if $(SEED),TROUPE_E2E_SEED=$(SEED)) $(GO) test -count $(N) -timeout 4h ./internal/e2e \
		-run '^TestTorture$$' -v -args -kills $(KILLS) -agents $(AGENTS) $(if $(KEEP),-keep $(abspath $(KEEP)))

fmt: ## gofmt, and lines of more than 120 columns wrapped
	@git ls-files -z --cached --others --exclude-standard '*.go' | grep -zv '/testdata/' | xargs -0 $(GO) run ./scripts/wrap

# One file per version: another version is another file, and the old one is never run. It is
# built with the Go that go.mod selects, because it refuses code newer than its own compiler.
$(LINT):
	@echo "Building golangci-lint $(GOLANGCI) into bin/tools; this happens once and takes some minutes."
	@mkdir -p $(@D)/new
	GOBIN=$(CURDIR)/$(@D)/new GOTOOLCHAIN=$(firstword $(shell $(GO) env GOVERSION)) \
		$(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI)
	@mv $(@D)/new/golangci-lint $@ && rmdir $(@D)/new

bench: ## benchmarks of the packages, then of a whole team against a model server; also bin/bench.json
	@mkdir -p $(dir $(BENCHJSON))
	$(GO) run ./internal/bench/cmd/benchjson -o $(BENCHJSON) $(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...
	$(if $(wildcard $(BENCHMAIN)),$(GO) run ./internal/bench/cmd/benchjson -o $(BENCHJSON) -more $(GO) run $(BENCHMAIN) $(BENCHARGS))

fuzz: ## every fuzz target for FUZZTIME each
	@grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sort | while IFS=: read -r file func; do \
		target=$${func#func }; echo "$$(dirname $$file) $$target"; \
		$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$(dirname $$file)" || exit 1; \
	done

picture: build ## docs/demo.svg, from a real run
	@mkdir -p $(dir $(PICTURE))
	GOFLAGS='$(GOFLAGS) -trimpath' CLICOLOR_FORCE=1 COLUMNS=$(COLUMNS_SHOWN) bin/troupe demo > bin/demo.ansi
	$(GO) run ./internal/picture/cmd/ansi2svg -title 'make demo' -columns $(COLUMNS_SHOWN) < bin/demo.ansi > $(PICTURE)

loc: ## the product's lines of code, by package
	@$(GO) run ./scripts/loc

clean: ## what was built here; bin/tools stays
	rm -f bin/troupe bin/demo.ansi bin/tidy.* bin/bench.json coverage.out
	rm -rf dist
