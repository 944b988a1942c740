"""Accounts: users' own pages, and tokens of the API."""
