# The project's verbs, which `make` lists. This file has the verbs for users of a queue, and the folder make has the others.
# The brackets at the end of a verb's help name its variables. A variable with = is required.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

include make/options.mk make/tools.mk

.PHONY: help
help: ## list the verbs
	@awk -F ' ## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z][a-z0-9-]*:.* ## / { split($$1, verb, ":"); printf "  make %-15s %s\n", verb[1], $$2 }' $(MAKEFILE_LIST)
	@printf '\n%s\n%s\n' "In brackets: the variables that a verb takes on the command line; one with = is required. ENV is dev (the default), staging or prod;" \
	  "NAME=alice means your own copy; QUEUE is lifo-queue (the default) or agent-queue; LOCAL=1 means the AWS of local-up."

##@ Use

.PHONY: dev
dev: build-freshq ## run a task queue without AWS: a burst on a simulated downstream, or the tasks of RUNNER=http://localhost:3000/validate [RUNNER TEMPLATE PORT]
	@$(FRESHQ) dev $(if $(RUNNER)$(TEMPLATE),,--simulate) $${RUNNER:+--runner "$$RUNNER"} $${TEMPLATE:+--template "$$TEMPLATE"} $${PORT:+--port "$$PORT"}

.PHONY: demo
demo: synth-local $(if $(CONSOLE),build-freshq) ## deploy to a local AWS and watch a burst of tasks run newest first; CONSOLE=1 serves a web page of it, UNRELIABLE=1 shows retries and failures [CONSOLE UNRELIABLE]
	@$(BIN)/python -m local demo $(if $(CONSOLE),--console $(FRESHQ))

.PHONY: local-up
local-up: synth-local ## start a local AWS with both stacks; writes .local/env for your shell [UNRELIABLE]
	@$(BIN)/python -m local up

.PHONY: local-down
local-down: $(VENV)/.installed ## stop the local AWS
	@$(BIN)/python -m local down

.PHONY: watch
watch: setup ## run the functions under cargo lambda watch, against the tables of local-up
	@$(MISSING) test -f .local/watch.env || missing "the local tables" "Start them with: make local-up"
	. .local/watch.env; cargo lambda watch --invoke-address 127.0.0.1 --target $(HOST)

.PHONY: invoke
invoke: setup ## invoke a watched function: EVENT=tests/events/<name>.json [F= EVENT=]
	@cargo lambda invoke $(F) --invoke-address 127.0.0.1 --data-file $(EVENT)

# Needs neither Rust nor the app, because it deploys only the CDK's own stack.
.PHONY: bootstrap
ifneq ($(REGION),)
bootstrap: export AWS_REGION := $(REGION)
endif
bootstrap: setup-aws ## prepare your account and region for the CDK, once [REGION]
	@$(BIN)/python -m delivery preflight
	@$(MAKE) setup-deploy
	@$(BIN)/python -m delivery bootstrap

.PHONY: synth
synth: setup ## write the templates to cdk.out; FRESHQ_SKIP_BUILD=1 omits the code [ENV NAME QUEUE IOT UNRELIABLE]
	@if [ -z "$${FRESHQ_SKIP_BUILD:-}" ]; then $(MAKE) build; fi
	$(SYNTH) $(CONTEXT) --output cdk.out
	@echo "wrote cdk.out/$(STACK).template.json"

.PHONY: diff
ASSEMBLED := $(if $(LOCAL),$(LOCAL_ASSEMBLY),cdk.out)
diff: setup ## show what a deployment would change [ENV NAME LOCAL IOT UNRELIABLE]
	@$(if $(LOCAL),$(CHECK_LOCAL),$(ACCOUNT) "comparing with $$account")
	@$(MAKE) $(if $(LOCAL),synth-local,synth)
	@$(AWS) cdk diff --app $(ASSEMBLED) $(ENV_STACKS)
	@$(AWS) $(BIN)/python -m delivery deployed --assembly $(ASSEMBLED) --into .local/deployed/$(SUFFIX) $(ENV_STACKS)

.PHONY: deploy
DEPLOY = $(BIN)/python -m delivery deploy --environment $(ENV) $(if $(YES),--yes)
deploy: setup-aws ## check the account, show the changes, prompt for confirmation (YES=1 skips it), deploy [ENV NAME QUEUE LOCAL YES IOT UNRELIABLE]
ifeq ($(LOCAL),1)
	@$(CHECK_LOCAL)
	@$(MAKE) synth-local
	@$(AWS) $(DEPLOY) --local --assembly $(LOCAL_ASSEMBLY) $(STACK)
else
	@$(BIN)/python -m delivery preflight --environment $(ENV)
	@$(MAKE) setup
	@$(BIN)/python -m delivery preflight --environment $(ENV) $(if $(NAME),--name $(NAME)) --stack $(STACK)
	@$(MAKE) synth
	@$(DEPLOY) $(STACK)
endif

.PHONY: smoke
SMOKE_NAME := $(or $(NAME),smoke)
SMOKE_ASSEMBLY := $(or $(ASSEMBLY),.local/smoke/cdk.out)
SMOKE_SYNTH := $(SYNTH) --context env=$(ENV) --output $(SMOKE_ASSEMBLY)
SMOKE_RUN = $(BIN)/python -m smoke run --environment dev --name $(SMOKE_NAME) --freshq $(FRESHQ) --assembly $(SMOKE_ASSEMBLY)
# With ASSEMBLY, nothing is built, so fewer tools are installed.
smoke: $(if $(ASSEMBLY),setup-aws,setup) $(if $(LOCAL),build-local build-freshq) ## deploy a copy of both queues, check it with freshq smoke and with failures, remove it; with another ENV than dev: only compare the settings [ENV NAME LOCAL ASSEMBLY SINCE]
	@mkdir -p .local/smoke
ifneq ($(ENV),dev)
	@$(if $(ASSEMBLY),,FRESHQ_SKIP_BUILD=1 $(SMOKE_SYNTH))
	@$(BIN)/python -m smoke settings --environment $(ENV) --assembly $(SMOKE_ASSEMBLY) $(if $(SINCE),--since $(SINCE))
else ifeq ($(LOCAL),1)
	@FRESHQ_SKIP_BUILD= FRESHQ_ARTIFACTS=$(LOCAL_FUNCTIONS) $(SMOKE_SYNTH) --context name=$(SMOKE_NAME)
	@$(SMOKE_RUN) --local
else
	@$(ACCOUNT) "the smoke test deploys to $$account"
	@$(MAKE) build build-freshq
	@$(SMOKE_SYNTH) --context name=$(SMOKE_NAME)
	@$(SMOKE_RUN)
endif

.PHONY: destroy
destroy: setup ## delete a stack from AWS; first list its protected and retained resources [ENV NAME QUEUE]
	@$(ACCOUNT) "destroying $(STACK) in $$account"
	@$(MAKE) synth FRESHQ_SKIP_BUILD=1
	@$(BIN)/python -m delivery leftovers --stack $(STACK)
	cdk destroy --app cdk.out $(STACK)

##@ Operate the task queue

.PHONY: build-freshq
build-freshq:
	@$(MISSING) command -v cargo >/dev/null || missing "Rust" "Install it with rustup; rust-toolchain.toml names the version."
	@test -x $(FRESHQ) || echo "building freshq; the first time this takes some minutes" >&2
	@$(FRESHQ_BUILD) >&2
	@$(if $(filter $@,$(MAKECMDGOALS)),echo "$(FRESHQ)")

.PHONY: install-cli
PREFIX := $(or $(PREFIX),$(HOME)/.local)
install-cli: build-freshq ## install freshq and its manual pages under PREFIX, ~/.local by default [PREFIX]
	@mkdir -p "$(PREFIX)/bin"
	@install -m 755 $(FRESHQ) "$(PREFIX)/bin/freshq"
	@"$(PREFIX)/bin/freshq" man "$(PREFIX)/share/man/man1"
	@echo "installed $(PREFIX)/bin/freshq; freshq completions bash generates shell completions"

.PHONY: console
console: build-freshq ## serve a web page of both queues on 127.0.0.1; with CHANGES=1 it can pause, resume, redrive and cancel [ENV NAME LOCAL CHANGES PORT]
	@$(AWS) $(FRESHQ) console --env $(SUFFIX) $(if $(CHANGES),--allow-changes) $${PORT:+--port "$$PORT"}

include make/check.mk make/release.mk make/maintain.mk
