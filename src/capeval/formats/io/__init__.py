"""Readers and writers for JSON, tables and compressed files."""
