"""What the organisers of a challenge do, and the record of it."""
