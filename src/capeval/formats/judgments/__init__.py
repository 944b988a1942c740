"""Files of human judgments: plans, votes, ratings, scores of systems."""
