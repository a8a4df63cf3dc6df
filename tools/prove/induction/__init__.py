"""Texts and associated data of every length, by induction over the passes of loops."""
