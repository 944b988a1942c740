"""The kinds of goldens, one module each."""
