"""Changes of challenges by their organizers."""
