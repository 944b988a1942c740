"""Rules for captions that workers write."""
