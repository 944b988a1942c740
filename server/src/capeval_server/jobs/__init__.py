"""Jobs: work that is done outside of requests, and the workers that do it. Handlers say how."""
