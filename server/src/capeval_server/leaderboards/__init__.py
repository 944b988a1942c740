"""Leaderboards: queries, ranking, rendering cache and exports."""
