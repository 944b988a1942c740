"""Reading and writing of JSON, tables and compressed files."""
