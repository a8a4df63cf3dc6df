"""Values whose bits are constants, symbols, or results of operations on values. Imports nothing else of the prover."""
