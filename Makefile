# `make` alone lists the targets.
SHELL := /bin/bash
BIN   := bin/canal-relay
STACK := deploy/local/stack
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
GOLANGCI_VERSION := v2.15.0

.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

build: ## build bin/canal-relay, static
	@CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $(BIN) ./cmd/canal-relay

demo: build ## see it work: servers, two nodes, changes, a crash, the proof (KEEP=1 leaves it running)
	@deploy/demo/run

test: lint test-unit test-stack ## everything: lint, unit tests with the race detector, real servers

test-unit: ## unit tests and in-process servers, with the race detector
	go test -race -count=1 ./...
	go test -count=1 ./cmd/internal/simulation -v -seeds 1000

test-stack: build ## tests against real MySQL, MariaDB, ZooKeeper and Kafka (starts its own stack)
	@deploy/test-stack

differential: ## random tables, rows and DDL against go-mysql and SELECT, as long as one likes (DURATION=10m, SEED=n)
	@TEST_STACK=differential SERVERS="mysql mariadb" PACKAGES=./cmd/canal-relay deploy/test-stack -timeout 0 -run '^TestStackDifferential$$' -v -differential $(or $(DURATION),10m) -seed $(or $(SEED),0)

simulate: ## nodes in virtual time under random faults, as long as one likes (SEEDS=1000 FIRST=n, or one: SEED=n)
	@go test -count=1 -timeout 0 ./cmd/internal/simulation -run '^TestSimulation$$' -v -seeds $(or $(SEEDS),1000) -first $(or $(FIRST),1) -seed $(or $(SEED),0)

soak: build ## random faults under load on two nodes, then the audit (FAULTS=100 or DURATION=2h, KINDS="SIGKILL,SIGTERM at once" in this order, or with FAULTS drawn from these; SERVER=mysql, DELIVERY=at-least-once, SEED=n)
	@TEST_STACK=soak SERVERS="$(or $(SERVER),mysql) zookeeper kafka" PACKAGES=./cmd/canal-relay deploy/test-stack -timeout 0 -run '^TestStackFaults$$' -v \
	  -server $(or $(SERVER),mysql) $(if $(KINDS),-kinds "$(KINDS)") $(if $(DURATION),-soak $(DURATION)) -faults $(or $(FAULTS),$(if $(KINDS)$(DURATION),0,100)) -delivery $(or $(DELIVERY),at-least-once) -seed $(or $(SEED),0)

fuzz: ## each fuzz target for FUZZTIME (20s)
	@deploy/fuzz $(or $(FUZZTIME),20s)

lint: ## formatting, vet, golangci-lint
	@deploy/lint $(GOLANGCI_VERSION)

bench: build ## rows per second, CPU per row and memory, on its own stack
	@deploy/bench/run

clean: ## stop every local stack and remove what was built (downloads stay)
	@for s in .stack/*/; do n=$$(basename $$s); [ "$$n" = cache ] || $(STACK) --name $$n wipe; done 2>/dev/null; rm -rf bin

.PHONY: help build demo test test-unit test-stack differential simulate soak fuzz lint bench clean
