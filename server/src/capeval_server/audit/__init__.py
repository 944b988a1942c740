"""Audit log of a challenge: actor, action, time, object."""
