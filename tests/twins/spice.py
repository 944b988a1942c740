"""SPICE has no twin in Python: it would be as long as the parser itself. The reference's own counts are."""

COMPARED_IN = "conformance/spice/test_spice.py"
