"""Modules shared by several studies."""
