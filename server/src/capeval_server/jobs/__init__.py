"""Background jobs: handlers, leases and workers."""
