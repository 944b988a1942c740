"""The studies of the papers: how to judge captions, how to judge metrics, how to build a benchmark."""
