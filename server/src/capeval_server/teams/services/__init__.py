"""Changes of teams: enrollment, membership, blocks."""
