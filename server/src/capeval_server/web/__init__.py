"""HTML pages of the server."""
