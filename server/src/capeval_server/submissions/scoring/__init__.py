"""Scoring of submissions in child processes, and storage of the scores."""
