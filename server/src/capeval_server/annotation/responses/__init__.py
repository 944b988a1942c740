"""Assignments and the responses of workers."""
