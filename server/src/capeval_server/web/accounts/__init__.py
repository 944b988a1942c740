"""Pages for user accounts."""
