"""Calls of kernels: memory, arguments, and the conditions afterwards."""
