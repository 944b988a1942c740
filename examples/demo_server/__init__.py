"""Demo server: COCO challenge, simple methods, campaigns with robots."""
