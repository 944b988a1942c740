"""Goldens: recordings of public behavior that a refactoring must not change."""
