# The variables of the verbs. A variable that a verb's help does not name is rejected before anything runs.

# A verb's variables are read only from the command line, because ENV and NAME have other meanings in many environments.
# E2E has no other meaning, so it is read from the environment too.
SWITCHES := LOCAL YES IOT E2E UNPROTECTED CONSOLE CHANGES UNRELIABLE DRY
OPTIONS := $(SWITCHES) PLATFORM ENV NAME QUEUE REGION F EVENT N SHARD ASSEMBLY OUT PREFIX BASE HEAD PORT BASE_NAME \
  HEAD_NAME REPOSITORY ENVIRONMENTS REGIONS BRANCH PROVIDER SINCE MINUTES RUNNER TEMPLATE DEPLOY
$(foreach o,$(filter-out E2E,$(OPTIONS)),$(if $(filter environment%,$(origin $o)),$(eval $o :=)))
ifeq ($(MAKELEVEL),0)
# The tools read these variables, so they are accepted from any source.
FOR_TOOLS := PYTHON AWS_% CARGO_% FRESHQ_% PROPTEST_% RUST%
GIVEN := $(sort $(filter-out $(FOR_TOOLS),$(foreach v,$(.VARIABLES),$(if $(filter command,$(origin $v)),$v))))
TAKES = $(shell sed -nE 's|^$1:.* \#\# .*\[(.*)\]$$|\1|p' Makefile make/*.mk)
REJECT = $(if $(strip $3),$(error make $1 $2 $(strip $3). It takes: $(or $4,no variables)))
CHECK = $(call REJECT,$1,does not take,$(filter-out $(patsubst %=,%,$2),$(GIVEN)),$2)$\
  $(call REJECT,$1,needs,$(foreach v,$(patsubst %=,%,$(filter %=,$2)),$(if $($v),,$v)),$2)
$(foreach verb,$(or $(MAKECMDGOALS),help),$(call CHECK,$(verb),$(call TAKES,$(verb))))
$(foreach s,$(SWITCHES),$(if $(filter-out 1,$($s)),$(error $s=$($s) is not a choice: write $s=1, or omit it)))
$(if $(LOCAL),$(if $(filter-out dev,$(or $(ENV),dev)),$(error LOCAL=1 is for ENV=dev)))
$(if $(filter-out local,$(DEPLOY)),$(error DEPLOY=$(DEPLOY) is not a choice: write DEPLOY=local, or omit it))
endif

ENV := $(or $(ENV),dev)
# With a personal name, the stacks are LifoQueue-<ENV>-<NAME> and AgentQueue-<ENV>-<NAME>.
SUFFIX := $(ENV)$(if $(NAME),-$(NAME))
# IOT=1: every device that connects to the account's IoT Core becomes a task. UNRELIABLE=1: the capacity of dev's
# simulated downstream is less than the queue's concurrency, and some runs fail.
SIMULATION := $(if $(UNRELIABLE),--context unreliable=true)
CONTEXT := --context env=$(ENV) $(if $(NAME),--context name=$(NAME)) $(if $(IOT),--context iotPresence=true) $(SIMULATION)
QUEUE := $(or $(QUEUE),lifo-queue)
STACKS.lifo-queue := LifoQueue-$(SUFFIX)
STACKS.agent-queue := AgentQueue-$(SUFFIX)
ENV_STACKS := $(STACKS.lifo-queue) $(STACKS.agent-queue)
STACK := $(or $(STACKS.$(QUEUE)),$(error QUEUE=$(QUEUE) is not a queue: choose lifo-queue or agent-queue))
