"""The evaluation server: captioning challenges from private references to leaderboards."""
