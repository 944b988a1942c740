"""Studies from the papers: human judgments, metric evaluation, dataset building."""
