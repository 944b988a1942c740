"""Kinds of goldens, one module each."""
