"""Challenges: models, definition files, selectors and services."""
