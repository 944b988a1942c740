"""Pages of user accounts."""
