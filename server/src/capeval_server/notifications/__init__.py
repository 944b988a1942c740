"""Notices: announcements, mail to participants, webhooks: what happened in the rooms below is told."""
