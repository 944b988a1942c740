"""Captioners of the nocaps paper: Up-Down and Neural Baby Talk."""
