"""Participation in challenges: teams, members and blocks."""
