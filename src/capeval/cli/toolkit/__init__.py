"""Shared parts of commands: options, input and output."""
