"""Objects is compared with an independent computation, over all phrases of its classes."""

COMPARED_IN = "conformance/open_objects/test_open_objects.py"
