"""Challenges: their tables, and the definition files."""
