# Every verb of the project. A laptop and CI run the same ones.

STACK     := tests/stack/lockstack
FUNCTIONS := acquire-lock heartbeat release-lock check-running-executions reaper operate
TOOLS     := $(or $(LOCKSTEP_CACHE),$(HOME)/.cache/lockstep)/bin
# One build has the tests, and the functions and the command as the local stack runs them: what they share, the SDKs above
# all, is built once. So it is of all of the workspace, always: each other choice of crates and features is another build of
# the SDKs. Clippy compiles it, as `cargo clippy` makes it do, but to the end: one build is linted and tested. It is linked
# statically, so that the command runs in any image. What is shipped comes from rustc, in the profile release.
CLIPPY    := env RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings \
             CARGO_BUILD_TARGET=$(shell uname -m)-unknown-linux-gnu RUSTFLAGS=-Ctarget-feature=+crt-static
ALL       := --quiet --workspace --all-features
TESTS     := $(CLIPPY) cargo test $(ALL)
# For the worlds of an hour: our own crates are optimised, whose build takes longer than a thousand worlds do.
OPTIMISED := $(foreach crate,core aws tests,--config profile.dev.package.lockstep-$(crate).opt-level=3)
# Tests with real clocks get a second try, which is reported.
AGAIN     := tests/checks/again $(TESTS)
# Tests of the deployed stack wait most of the time, for leases and containers.
WAITING   := -- --test-threads=6
# The command as it is shipped is linked statically, too. Another ARCH needs its Rust standard library, and a linker
# for it; flags for one target only keep build scripts out of it.
ARCH      := $(shell uname -m)
TARGET    := $(ARCH)-unknown-linux-gnu
# The functions that are deployed are for the processor that the template names by default. Another one goes into the stack's
# parameter Architecture too.
ARCHITECTURE := $(shell awk '/^  Architecture:/ {found = 1} found && /Default:/ {print $$2; exit}' infra/template.yaml)
BUILT     := target/$(TARGET)/debug
STATIC    := CARGO_TARGET_DIR=target/static RUSTFLAGS="-C target-feature=+crt-static"
LAMBDA    := $(CLIPPY) cargo lambda build --compiler cargo --lambda-dir target/lambda $(ALL) $(addprefix --bin ,$(FUNCTIONS))
export PATH := $(TOOLS):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help docs checked beside deployable deployed computed check fmt lint audit purity macos test test-unit test-scripts test-contract test-model test-sim test-undefined \
        test-integration test-stack test-e2e test-page up down demo build package stackset bench bench-check bench-cost bench-scale validate schemas clean tools functions \
        binary release release-twice release-proved release-bare publish version figures golden upgrade test-cli test-figures test-sizes test-cdk linear storm worlds soak audit-scale mutants promises promises-seen verify-aws

# A line `##@ Title` begins a group of verbs, and the text after `##` is a verb's line.
help: ## list the verbs
	@awk -F ':.*## ' '/^##@ /{print "\n" substr($$0, 5)} \
	    /^[a-z0-9-]+:.*## /{printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Check

check: fmt lint purity macos promises ## all checks that run no test

fmt: ## is the code formatted?
	cargo fmt --all --check
	cargo fmt --manifest-path benches/Cargo.toml --check

lint: ## builds all targets with clippy, without a warning; bans, licences and sources of dependencies
	@echo "lint: clippy on all targets, where a warning is an error"
	$(CLIPPY) cargo build $(ALL) --all-targets
	tests/checks/dependencies
	tests/checks/advisories-test

purity: ## does the core build alone, without AWS, tokio or Lambda? Does each import keep to tests/checks/layers.toml?
	tests/checks/purity

macos: ## does the command type-check for macOS?
	tests/checks/macos

validate: tools ## SAM, CloudFormation, IAM and state machine checks
	infra/validate

promises: ## does each promise of the pages name its tests, and do they exist?
	tests/promises/check

audit: ## known vulnerabilities of the dependencies; LOCKSTEP_ADVISORY_DB names a clone of RustSec's database
	tests/checks/advisories

##@ Test (times on 2 cores, after a build)

test: checked beside deployed ## [25 min cold] all levels, and the checks
	@echo "all levels passed"

# The validators use one core while the last crates of a build use the other. One build of all levels keeps the cores
# busy: a level by itself is one crate at its end.
checked: tools
	@$(MAKE) --no-print-directory -j2 fmt promises validate lint

# The integration level waits most of the time, so the short levels run beside it.
beside:
	@$(MAKE) --no-print-directory -j4 test-integration test-unit test-contract test-stack test-cdk test-sizes

# Two levels wait for leases and containers most of the time. Each has a stack of its own.
deployed:
	@$(MAKE) --no-print-directory -j3 test-e2e test-cli computed

# These only compute, so they get the time that is left beside the levels that wait. The functions are not built again (-o):
# that would write their archives anew while the stacks beside it read them.
computed: deployable
	@nice -n 19 $(MAKE) --no-print-directory -j1 -o deployable purity test-scripts test-model test-sim test-undefined test-figures macos

test-unit: ## [a few s] pure code
	$(TESTS) --lib --bins

test-scripts: tools ## [30 s] the scripts that check and measure
	tests/mutants/mutants test
	tests/checks/again-test
	tests/promises/test_check.py
	benches/test_report.py
	benches/test_figures.py
	benches/test_scale.py
	tests/linear/test_check.py

test-contract: ## [20 s] JSON in, JSON out, and that all who speak it agree
	$(TESTS) --test contract

test-model: ## [1.5 min] properties over random records and commands, and every order of steps in small worlds
	$(TESTS) --test property
	$(TESTS) --test model

test-sim: ## [45 s] seeded simulations of all functions under faults; LOCKSTEP_SEEDS says how many
	$(TESTS) --test simulation

test-undefined: deployable ## [40 s] no expression of a definition is without a value where AWS refuses that
	tests/stack/lockstack undefined $(BUILT)/lockstep

test-figures: tools ## [20 s] instructions of a decision and crates of a function, beside benches/figures.toml
	$(CLIPPY) benches/guard

test-sizes: deployable ## [1 s] the zips of the local stack's functions, beside benches/figures.toml
	benches/guard zips-of-the-tests

test-integration: tools ## [3 min] the store on AWS's DynamoDB Local
	tests/checks/with-stack $(AGAIN) --test integration

test-e2e: deployable ## [6 min] the deployed stack: Step Functions, Lambda, ECS containers
	tests/checks/with-stack --deploy sh -c '$(AGAIN) --test e2e $(WAITING) && tests/checks/proofs tests/iam/evaluate tests/browser/prove'

# The proofs are here because this level is done before the other one on a stack.
test-cli: PROOFS := $(addprefix tests/,teams/prove cdk/prove alarms/prove crowded/prove landing/prove adopter/prove transcripts/record)
test-cli: deployable ## [8 min] the `lockstep` command: real processes, signals, containers, queues; teams, CDK, a crowded account, an adopter
	tests/checks/with-stack --deploy sh -c '$(AGAIN) --test cli $(WAITING) && tests/checks/proofs $(PROOFS)'

test-cdk: deployable ## [45 s] the constructs of the AWS CDK: what they make beside the templates, and jsii
	LOCKSTEP=$(BUILT)/lockstep infra/cdk/check

test-page: deployable ## [1 min] the pages in headless Chromium, on the deployed stack; installs Chromium
	tests/checks/with-stack --deploy tests/browser/prove

test-stack: tools ## the emulator against the AWS behaviour that the other levels count on, and the account probes on it
	tests/checks/with-stack sh -c '$(STACK) probe && tests/aws/against-stack'

##@ Build

tools: ## install the pinned tools of the local stack
	@$(STACK) install

docs: ## build the site of the documentation into target/docs/site, with the API of the crates
	@command -v mdbook >/dev/null || cargo install --quiet --locked --no-default-features --features search --root "$(dir $(TOOLS))" mdbook@0.5.4
	docs/site/build

functions: tools ## build the functions for the local stack, and the demo
	$(LAMBDA) --bin demo

deployable: tools ## build the functions and the `lockstep` command for the tests
	$(LAMBDA) --bin lockstep

build: tools ## build the functions as they are deployed, for ARCHITECTURE=arm64 or x86_64; the template's default is the default
	cargo lambda build --release --$(subst _,-,$(ARCHITECTURE)) $(addprefix -p ,$(FUNCTIONS))

package: build ## one zip for each function under target/lambda, with its size, beside benches/figures.toml
	@$(if $(filter $(ARCH),$(ARCHITECTURE)),benches/guard zips,ls -l $(FUNCTIONS:%=target/lambda/%/bootstrap.zip))

stackset: package ## infra/template.yaml after the SAM transform, with the zips beside it, for StackSets: docs/landing-zones/stacksets.md
	@"$(dir $(realpath $(TOOLS)/sam))python" infra/transformed target/stackset $(ARCHITECTURE)

binary: ## the static `lockstep` command as it is shipped, with its size
	$(STATIC) cargo build --quiet -p lockstep-cli --target $(TARGET) --release
	@ls -l target/static/$(TARGET)/release/lockstep

schemas: ## write the JSON Schemas and those of the agent's API from the types
	$(CLIPPY) cargo build $(ALL) --example schemas
	$(BUILT)/examples/schemas
	UPDATE_SNAPSHOTS=1 $(TESTS) --bin lockstep openapi

golden: export LOCKSTEP_GOLDEN = accept
golden: tools ## write tests/golden of the version in Cargo.toml: what it sends, answers and stores, for later versions to replay
	@release/version --unreleased
	$(TESTS) --lib --bins -- is_kept means_what_it_did
	$(TESTS) --test simulation -- are_kept is_kept
	$(TESTS) --test contract -- are_kept
	"$(dir $(realpath $(TOOLS)/cfn-lint))python" tests/infra/test_interface.py --write
	$(TESTS) --test contract digests

clean: down ## stop the stack and remove what was built
	cargo clean

##@ Run on this machine

up: functions ## start the local stack and deploy to it
	$(STACK) up
	$(STACK) deploy

down: ## stop the local stack
	$(STACK) down

demo: functions ## [4 min cold] ten starts of one tick, a timeline, and overlaps: 0
	tests/checks/with-stack --deploy $(BUILT)/demo

##@ Measure and release

linear: export LOCKSTEP_SECONDS ?= 300
linear: tools ## [5 min] histories of clients on a failing wire, and a checker that knows locks; LOCKSTEP_SEED and LOCKSTEP_SECONDS
	tests/checks/with-stack $(TESTS) --test integration linear:: -- --nocapture --test-threads=1

worlds: export LOCKSTEP_SEEDS ?= 100000
worlds: ## [30 min] the simulation of 100,000 worlds, from an optimised build; LOCKSTEP_SEEDS says which worlds
	$(TESTS) $(OPTIMISED) --test simulation no_seed_breaks -- --nocapture

storm: deployable ## [5 min a seed] sixty batches under outages of the table, and other tests of minutes
	tests/checks/with-stack --deploy sh -c '$(TESTS) --test e2e -- --ignored --skip soak --test-threads=1 --nocapture && $(TESTS) --test cli stops::left -- --ignored --test-threads=1'

upgrade: deployable ## [4 min, after a build of FROM] upgrade a local stack from the version FROM=<commit> and roll it back, with RUNS=200 in flight and QUEUE=50 waiting
	@test -n "$(FROM)" || { echo "make upgrade: FROM is missing: a commit, tag or branch" >&2; exit 2; }
	$(LAMBDA) --bin upgrade
	tests/upgrade/prove $(FROM) $(if $(BREAK),--break $(BREAK))

soak: functions ## [5 min a seed] hundreds of runs while everything fails at random; LOCKSTEP_SEED and LOCKSTEP_RUNS
	tests/checks/with-stack --deploy $(TESTS) --test e2e soak -- --ignored --test-threads=1 --nocapture

mutants: tools ## [hours] the mutation score of the protocol and the definitions; MUTANTS="--shard 1/8" takes a part
	tests/mutants/mutants test
	tests/checks/with-stack tests/mutants/mutants run $(MUTANTS)

promises-seen: ## see a judge of each promise fail on the mutant that the promise names; PROMISES="--only TEXT" takes a part
	tests/mutants/mutants test
	tests/mutants/mutants seen $(PROMISES)
	tests/promises/check

bench: ARCHITECTURE := $(ARCH)
bench: package tools ## [25 min] locks, cold starts and the deployed stack, into benches/results, docs/performance.md and benches/README.md
	benches/rivals/install
	benches/locks
	benches/starts
	benches/stack
	benches/report.py

bench-check: ## do the measurements compile? They are a workspace of their own, which no other verb builds
	CARGO_TARGET_DIR=target/bench $(CLIPPY) cargo check --quiet --locked --manifest-path benches/Cargo.toml --all-targets

# The tests hold the counts to benches/figures.toml, which the dollars are computed from.
bench-cost: tools ## [2 min] what guarded runs cost: counts on virtual time, dollars by benches/prices.toml, into docs/performance.md
	$(TESTS) --test simulation cost::
	tests/checks/with-stack $(TESTS) --test integration cost::
	benches/cost
	benches/report.py

figures: export LOCKSTEP_FIGURES = accept
figures: functions ## write what tests count into benches/figures.toml, where it is not what is committed
	$(TESTS) --test simulation cost::
	tests/checks/with-stack $(TESTS) --test integration cost::
	$(CLIPPY) benches/guard instructions crates zips-of-the-tests

audit-scale: deployable ## [4 min] `lockstep audit` of 200 state machines with 100,000 runs, beside a count in Python; stopped and resumed
	tests/checks/with-stack tests/audit/scale

bench-scale: ## [3 min] AWS's quotas at 100,000 locks and 1,000 starts a second, simulated, into docs/scale.md and benches/scale.md
	benches/scale
	benches/scale --write

version: ## write a version into every place that has it: VERSION=1.2.3
	release/version "$$VERSION"

# The shell reads the variables, so that none is a command. Empty ones are as those that are not there.
release: tools ## [1 h] all artefacts into dist/, from a clean tree: VERSION=1.2.3; KEY, REPOSITORY, TARGETS: docs/release.md
	release/build "$$VERSION" $${KEY:+--key "$$KEY"} $${TARGETS:+--targets "$$TARGETS"}

release-twice: tools ## [2 h] a release in two folders; are the hashes the same? TARGETS takes a part
	release/twice $$TARGETS

publish: ## upload the crates of the release whose tag is checked out and whose sums are in dist/: VERSION=1.2.3, REPOSITORY as of the release
	release/publish "$$VERSION"

release-proved: tools ## [1 min] deploy, load, install and run what is in dist/, on the local stack
	tests/checks/with-stack tests/release/prove

release-bare: tools ## [2 min; 5 min more at first] how long does dist/ take a user to a guarded run? In a container without a compiler, by debootstrap
	tests/checks/with-stack tests/release/prove bare

verify-aws: tools ## does your AWS account behave as Lockstep counts on? CONFIRM=yes runs it, SUBNETS=subnet-... with tasks
	@tests/aws/verify $(if $(filter yes,$(CONFIRM)),--confirm) $(if $(SUBNETS),--subnets $(SUBNETS)) \
	    $(if $(SECURITY_GROUPS),--security-groups $(SECURITY_GROUPS)) $(if $(filter yes,$(PUBLIC_IP)),--public-ip) \
	    $(if $(IMAGE),--image $(IMAGE)) $(if $(MINUTES),--minutes $(MINUTES)) $(PROBES)
