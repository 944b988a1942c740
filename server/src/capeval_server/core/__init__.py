"""Base classes, errors and helpers that all apps share."""
