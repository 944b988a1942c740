"""Locks, slots, options, database triggers and agreement of campaigns."""
