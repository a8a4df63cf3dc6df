"""Changed kernels, which the prover must refuse."""
