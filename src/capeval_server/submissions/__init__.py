"""Submissions: taken in, scored once, kept."""
