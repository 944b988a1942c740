"""Internal helpers of capeval."""
