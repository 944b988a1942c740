"""HTTP: middleware, conditional and range requests, limits, and a safe client."""
