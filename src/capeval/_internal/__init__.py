"""Helpers of the package; not for other packages."""
