"""Goldens: recordings of the public behavior that a restructuring must not change."""
