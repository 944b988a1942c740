"""Notifications: announcements, mail to participants, webhooks."""
