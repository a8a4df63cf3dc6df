"""The semantics of instructions, on symbolic values."""
