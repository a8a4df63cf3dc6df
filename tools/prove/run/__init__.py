"""Calls of kernels: memory, arguments, and the conditions after the call."""
