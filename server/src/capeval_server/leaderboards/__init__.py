"""Leaderboards: which submissions are on them, in which order."""
