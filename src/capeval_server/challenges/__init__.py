"""What a challenge is, and making one from files."""
