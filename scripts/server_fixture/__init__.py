"""Makes the fixture of a server's database and files in `tests/server/fixtures/`."""
