"""Leaderboards: who scored what."""
