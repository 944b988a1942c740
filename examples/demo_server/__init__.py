"""The demo: the COCO challenge, simple methods on its leaderboard, and campaigns in which robots work."""
