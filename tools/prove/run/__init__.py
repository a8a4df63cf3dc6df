"""Calls of kernels: memory, arguments, and what must be true afterwards."""
