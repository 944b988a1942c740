"""Dataset building: splits of captions and frozen versions."""
