"""What the prover trusts, compared with the CPU, with Z3 and with published vectors; and how its files import each other."""
