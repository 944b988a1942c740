"""Changes of users and name reservations."""
