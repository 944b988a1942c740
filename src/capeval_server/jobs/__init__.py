"""Jobs: what is to be done apart from requests, and the workers that do it. What is done is in handlers."""
