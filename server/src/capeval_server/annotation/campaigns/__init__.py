"""Campaigns: definition, creation, life cycle, progress, forecast."""
