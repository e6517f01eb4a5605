##@ Release

.PHONY: build
build: setup-arm64 ## build the functions for AWS (arm64, release) with cargo-lambda
	@delivery/build-arm64.sh $(FUNCTIONS)

.PHONY: verify-arm64
verify-arm64: setup ## check that the functions for AWS are arm64, and start them (on other machines under qemu)
	@if [ -z "$${FRESHQ_SKIP_BUILD:-}" ]; then $(MAKE) build; fi
	@mkdir -p .local
	@FRESHQ_SKIP_BUILD=1 $(SYNTH) --context env=dev --output .local/placeholders
	@$(BIN)/python -m delivery verify-arm64 --placeholders .local/placeholders $(FUNCTIONS)

.PHONY: package
package: setup ## build the npm package freshq-<version>.tgz with the functions for AWS; FRESHQ_ARTIFACTS names functions built before
	@$(if $(FRESHQ_ARTIFACTS),,$(MAKE) build)
	@$(BIN)/python -m delivery package $(if $(FRESHQ_ARTIFACTS),--built "$(FRESHQ_ARTIFACTS)") $(FUNCTIONS)

.PHONY: build-cli
build-cli: setup-arm64 ## build the command freshq of a platform into target/cli: linux-x64, linux-arm64, and on macOS darwin-x64, darwin-arm64 [PLATFORM=]
	@delivery/build-cli.sh $(PLATFORM)

.PHONY: release
release: setup ## build what a release publishes into target/npm: packages, SBOMs, checksums; DRY=1 prints missing parts and continues; FRESHQ_ARTIFACTS names functions built before [DRY]
	@$(BIN)/python -m delivery release $(if $(DRY),--dry) $(if $(FRESHQ_ARTIFACTS),--built "$(FRESHQ_ARTIFACTS)") $(FUNCTIONS)

.PHONY: synth-all
synth-all: setup ## write the templates of every environment to one folder [OUT=]
	$(SYNTH) --output $(OUT)

.PHONY: deploy-assembly
deploy-assembly: setup-deploy ## deploy both stacks of an environment from a folder of synth-all [ENV ASSEMBLY= YES]
	@$(DEPLOY) --assembly $(ASSEMBLY) $(ENV_STACKS)

# Its role can read templates and nothing else.
.PHONY: deployed
deployed: setup-aws ## write the deployed templates of the stacks in the folder HEAD to the folder OUT [ENV HEAD= OUT=]
	@$(BIN)/python -m delivery deployed --assembly "$(HEAD)" --into "$(OUT)" $(ENV_STACKS)

.PHONY: diff-summary
diff-summary: setup ## write what a pull request would change in the stacks, with possible losses of data first; BASE and HEAD are folders of templates [BASE= HEAD= OUT BASE_NAME HEAD_NAME ENVIRONMENTS]
	@tsx infra/diff/main.ts --base "$(BASE)" --head "$(HEAD)" $(if $(BASE_NAME),--base-name "$(BASE_NAME)") $(if $(HEAD_NAME),--head-name "$(HEAD_NAME)") $(if $(OUT),--out "$(OUT)") $(if $(ENVIRONMENTS),--environments '$(ENVIRONMENTS)')

# The environments for which infra/ci/ci-settings.ts creates roles by default.
CI_ENVIRONMENTS := staging,prod
.PHONY: bootstrap-ci
bootstrap-ci: setup ## create the roles of GitHub Actions in your account: docs/how-to/continuous-delivery.md [REPOSITORY= ENVIRONMENTS REGIONS BRANCH PROVIDER UNPROTECTED]
	$(if $(UNPROTECTED),,@$(BIN)/python -m delivery protection --repository $(REPOSITORY) --branch $(or $(BRANCH),main) --environments $(or $(ENVIRONMENTS),$(CI_ENVIRONMENTS)))
	@$(ACCOUNT) "deploying FreshqCi to $$account"
	cdk deploy FreshqCi --app 'tsx infra/ci/ci-app.ts' --output cdk.out/ci --require-approval any-change \
	  --context repository=$(REPOSITORY) $(if $(ENVIRONMENTS),--context environments=$(ENVIRONMENTS)) $(if $(PROVIDER),--context provider=$(PROVIDER)) \
	  $(if $(REGIONS),--context regions=$(REGIONS)) $(if $(BRANCH),--context branch=$(BRANCH))
