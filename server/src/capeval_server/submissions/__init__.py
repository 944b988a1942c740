"""Submissions: accepting them, scoring them, showing them."""
