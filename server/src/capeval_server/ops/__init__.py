"""Operations: health checks, metrics, logging, installation checks and processes."""
