"""HTTP: middleware, conditional and range requests, limits, a client for other hosts."""
