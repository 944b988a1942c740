"""CLIPScore is compared with an independent computation from features of transformers."""

COMPARED_IN = "training/test_clip_score.py"
