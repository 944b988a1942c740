"""Who may ask for what: users' own pages, and tokens of the API."""
