"""Who takes part in a challenge: teams, which submissions, quotas and standings belong to."""
