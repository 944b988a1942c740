"""No network, and caches of their own."""

import os
import tempfile

_CACHES = tempfile.TemporaryDirectory(prefix="capeval-test-baselines-")
# Read by the libraries when they are imported.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HOME"] = _CACHES.name
