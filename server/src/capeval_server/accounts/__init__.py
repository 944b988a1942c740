"""Accounts: users, reserved names and API tokens."""
