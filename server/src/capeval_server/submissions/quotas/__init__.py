"""Quotas and upload limits."""
