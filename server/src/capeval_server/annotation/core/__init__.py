"""Locks, slots, options and constraints of campaigns."""
