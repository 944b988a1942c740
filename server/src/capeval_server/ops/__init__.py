"""Whether the server is well: probes, metrics, an access log, and a check of the installation."""
