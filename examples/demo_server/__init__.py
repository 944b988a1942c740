"""Demo server: the COCO challenge, simple methods on its leaderboard, campaigns with robots."""
