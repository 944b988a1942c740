"""Human judgment files: plans, votes, ratings and scores of systems."""
