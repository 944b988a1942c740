"""Place of the comparison of SPICE, which has no Python twin: a twin would be as long as the parser."""

COMPARED_IN = "conformance/spice/test_spice.py"
