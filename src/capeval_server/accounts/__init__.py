"""Who may ask for what: tokens of the API."""
