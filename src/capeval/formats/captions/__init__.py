"""Caption formats: one module per format."""
