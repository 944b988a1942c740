"""Image selection for a benchmark (nocaps, section 3.1)."""
