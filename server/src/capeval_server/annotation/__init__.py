"""Campaigns in which people write, compare, rate and check captions."""
