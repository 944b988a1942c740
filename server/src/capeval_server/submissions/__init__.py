"""Submissions: upload, scoring, quotas, and access to results."""
