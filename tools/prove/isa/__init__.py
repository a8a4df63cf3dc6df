"""The meaning of instructions, on values."""
