"""Creation of the server fixture in `tests/server/fixtures/`: database and files."""
