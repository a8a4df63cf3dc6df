# The model of network processors. Its tests are those of all modules.

.PHONY: nicmodel nicmodel-measure
nicmodel: ## the model of data placement on NICs: writes its table and plots
	cd gateway/nicmodel && CGO_ENABLED=0 $(GO) run .

nicmodel-measure: ## measures what the model is held against: this machine's caches, and the AEAD over many flows
	cd gateway/nicmodel && CGO_ENABLED=0 $(GO) run . -measure
