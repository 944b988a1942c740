"""What is scored where nothing else is asked for; known without importing the metrics."""

__all__ = ["DEFAULT"]

DEFAULT = ("BLEU", "METEOR", "ROUGE-L", "CIDEr-D")
"""The metrics of the COCO Captions server."""
