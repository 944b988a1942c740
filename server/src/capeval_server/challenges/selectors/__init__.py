"""Queries of challenges."""
