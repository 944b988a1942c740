"""Configuration: settings, URLs and the WSGI application."""
