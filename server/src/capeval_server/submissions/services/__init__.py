"""Changes of submissions: upload, life cycle, leaderboard selection, cleanup."""
