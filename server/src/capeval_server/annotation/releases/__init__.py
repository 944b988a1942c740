"""Releases of a campaign: frozen files, result files, scores of systems."""
