"""SPICE model, found automatically by capeval."""
