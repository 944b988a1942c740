"""Changes of challenges and of their parts."""
