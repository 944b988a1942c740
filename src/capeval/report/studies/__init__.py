"""Figures of single studies."""
