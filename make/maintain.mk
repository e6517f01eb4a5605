##@ Maintain

.PHONY: setup
setup: check-rust $(VENV)/.installed node_modules/.installed ## install the pinned tools into .venv and node_modules (never globally)

.PHONY: build-local
build-local: setup ## build the functions for this machine (development profile, stripped)
	cargo lambda build --locked --compiler cargo --target $(HOST) --skip-target-check \
	  --lambda-dir $(LOCAL_FUNCTIONS) $(addprefix --bin ,$(FUNCTIONS))
	@strip $(FUNCTIONS:%=$(LOCAL_FUNCTIONS)/%/bootstrap)

.PHONY: synth-local
synth-local: build-local
	@mkdir -p .local
	FRESHQ_SKIP_BUILD= FRESHQ_ARTIFACTS=$(LOCAL_FUNCTIONS) $(SYNTH) --context env=dev --context iotPresence=true $(SIMULATION) --output $(LOCAL_ASSEMBLY)

.PHONY: docs
docs: setup $(PACKAGE_TOOLS) ## write the reference pages that are generated from the sources
	FRESHQ_WRITE_TABLES=1 jest --silent tests/docs/reference.test.ts tests/infra/contract.test.ts tests/infra/logical-ids.test.ts tests/infra/nag.test.ts tests/infra/iam/table.test.ts tests/infra/ingest-rejections.test.ts
	FRESHQ_WRITE_TABLES=1 $(NEXTEST) --filterset 'package(freshq) & test(page_has_the_current_estimates)'
	$(call API_REPORTS,--local)

.PHONY: site
site: $(SITE_TOOLS) ## build the site of the documentation from docs; writes target/site
	tools/site/node_modules/.bin/vitepress build tools/site

.PHONY: flaky
N := $(or $(N),20)
flaky: setup ## repeat the Rust tests N=20 times with new seeds, or with E2E=1 the end-to-end tests; list the failed tests; F is a filterset of nextest or files of tests [N E2E F]
ifeq ($(E2E),1)
	@$(MAKE) synth-local build-freshq
	@$(BIN)/python -m tests.flaky $(N) $(PYTEST_E2E) $(or $(F),tests/e2e)
else
	@$(MAKE) build-local
	@export FRESHQ_FIRST_SEED=$${FRESHQ_FIRST_SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}; \
	echo "to repeat these seeds: make flaky N=$(N)$(if $(F), F='$(F)') FRESHQ_FIRST_SEED=$$FRESHQ_FIRST_SEED"; \
	$(NEXTEST) $(if $(F),--filterset '$(F)') --stress-count $(N) --no-fail-fast --success-output never --failure-output immediate \
	  --status-level fail --final-status-level fail
endif

.PHONY: simulate
simulate: check-rust ## simulate overload, outages and storms with the real core on a virtual clock; writes target/simulate, docs/reference/storms.md and the charts in docs/img
	cargo build --locked --quiet --workspace --bin simulate --target $(HOST)
	target/$(HOST)/debug/simulate

.PHONY: bench
bench: setup ## measure AWS calls per task, throughput, memory, cold start, sizes, ingest, matches of agents
	cargo build --locked --release --package bench --package ingest-tasks --package process-tasks
	target/release/bench --cold-start target/release/process-tasks --ingest target/release/ingest-tasks
	$(BIN)/python -m delivery sizes

PEERS := bench/peers/.venv
$(PEERS)/.installed: bench/peers/package-lock.json bench/peers/requirements.txt | check-node
	$(NPM_CI) --prefix bench/peers
	python3 -m venv $(PEERS)
	$(subst $(BIN),$(PEERS)/bin,$(PIP_INSTALL)) -r bench/peers/requirements.txt
	@touch $@

.PHONY: bench-peers
bench-peers: check-rust $(PEERS)/.installed ## measure freshq dev beside BullMQ (if redis-server is installed) and flexiq on the same downstream (ten minutes)
	cargo build --locked --release --workspace --bin freshq --target $(HOST)
	$(PEERS)/bin/python -m bench.peers --freshq target/$(HOST)/release/freshq

.PHONY: bench-agents
bench-agents: check-rust ## measure matches of agents and calls by mode and number of matchers
	cargo build --locked --workspace --bin bench --target $(HOST)
	target/$(HOST)/debug/bench agents

.PHONY: iam-soak
iam-soak: synth-local ## remove each permission of each function in turn: a probe must fail without it; writes docs/internals/iam-removal.md
	$(BIN)/python -m tests.removal --write docs/internals/iam-removal.md

.PHONY: load-soak
load-soak: synth-local ## keep the task queue on a local AWS under load for MINUTES=30, with outages and redeployments; print a table [MINUTES]
	$(BIN)/python -m tests.soak --minutes $(or $(MINUTES),30)

.PHONY: soak
soak: iam-soak load-soak ## run iam-soak and load-soak, ten times the fault schedules and reference runs, and the whole model (an hour, several GB) [MINUTES]
	FRESHQ_SOAK=1 $(NEXTEST) -j2 --filterset 'package(faults) | package(reference) | package(agents)'
	FRESHQ_SOAK=1 $(NEXTEST) -j1 --filterset 'package(model)'

# A copy of the committed sources, in which the guards are broken. It has its own target folder, because cargo gives a
# crate's artefacts the same names in both trees. In a shared folder, cargo could use a broken artefact as the real one.
MUTANTS := .local/mutants
CARGO_MUTANTS := .tools/bin/cargo-mutants
$(CARGO_MUTANTS): | check-rust
	cargo install --quiet --locked --root .tools cargo-mutants@27.1.0

# Each file gets the time of its extraction. If it had the commit's time, cargo would use a later artefact of a broken guard.
.PHONY: mutants-copy
mutants-copy:
	@mkdir -p $(MUTANTS)/tree
	@find $(MUTANTS)/tree -mindepth 1 -maxdepth 1 -exec rm -rf {} +
	@git archive HEAD -- .cargo .config Cargo.lock Cargo.toml clippy.toml rust-toolchain.toml README.md CHANGELOG.md bench crates \
	  docs examples lambdas tests \
	  | tar --extract --touch --directory $(MUTANTS)/tree

# Compiled alone, a package has only the features that it enables, without those that other workspace packages enable.
.PHONY: check-packages
check-packages: check-rust ## check that the tests of each Rust package compile alone (recompiles dependencies)
	for package in $$(cargo tree --locked --workspace --depth 0 --prefix none --format '{p}' | cut -d ' ' -f 1 | sort -u); do \
	  cargo check --locked --tests --package $$package --target $(HOST) || exit 1; done

.PHONY: guards
guards: setup mutants-copy ## break the queues' guards one at a time: a test must fail each time (about an hour) [SHARD]
	CARGO_TARGET_DIR=$(CURDIR)/$(MUTANTS)/target $(BIN)/python -m tests.guards --root $(MUTANTS)/tree --target $(HOST) $(if $(SHARD),--shard $(SHARD))

.PHONY: mutants
mutants: guards $(CARGO_MUTANTS) ## run guards, and cargo-mutants on the queues' core (hours); docs/internals/mutants.md explains survivors [SHARD]
	cd $(MUTANTS)/tree && CARGO_PROFILE_DEV_DEBUG=false CARGO_TARGET_DIR=$(CURDIR)/$(MUTANTS)/mutants-target \
	  $(CURDIR)/$(CARGO_MUTANTS) mutants --in-place --no-shuffle \
	  --cargo-arg=--target=$(HOST) --minimum-test-timeout 120 --output $(CURDIR)/$(MUTANTS) $(if $(SHARD),--shard $(SHARD))

.PHONY: clean
clean: ## delete build results and keep the installed tools
	@if [ -f .local/run.json ]; then $(MAKE) local-down; fi
	rm -rf target cdk.out .local .pytest_cache

.PHONY: distclean
distclean: clean ## delete the installed tools too
	rm -rf $(VENV) node_modules
