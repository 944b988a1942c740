"""Queries for the organizers of a challenge."""
