"""Changes of users and reserved names."""
