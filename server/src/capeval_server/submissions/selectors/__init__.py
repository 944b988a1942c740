"""Queries of submissions, scores and the queue."""
