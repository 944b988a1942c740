"""Commands: one module per command."""
