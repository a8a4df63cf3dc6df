# The model of network processors. Its tests run like those of all modules.

.PHONY: nicmodel nicmodel-measure nicmodel-gateway
nicmodel: ## the model of data placement on NICs: writes its table and plots
	cd gateway/nicmodel && CGO_ENABLED=0 $(GO) run .

nicmodel-measure: ## measures the data that checks the model: this machine's caches, and the AEAD over many flows
	cd gateway/nicmodel && CGO_ENABLED=0 $(GO) run . -measure

nicmodel-gateway: ## measures how long it takes to come to the gateway's own data, for results.md
	cd gateway && CGO_ENABLED=0 $(GO) test ./internal/engine -count=1 -run TestPlacement$$ -args -placement $(CURDIR)/gateway/nicmodel/gateway.json
