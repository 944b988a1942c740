"""The server's settings, in a folder of the tests' own."""

import os
import tempfile

_FOLDER = tempfile.TemporaryDirectory(prefix="capeval-server-tests-")
# Ignore the settings in the environment of the test run.
for _name in [name for name in os.environ if name.startswith("CAPEVAL_SERVER_")]:
    del os.environ[_name]
os.environ["CAPEVAL_SERVER_DATA"] = _FOLDER.name
os.environ["CAPEVAL_SERVER_UPLOAD_BYTES"] = "1000000"
os.environ["CAPEVAL_SERVER_UNPACKED_BYTES"] = "2000000"
os.environ["CAPEVAL_SERVER_BOOTSTRAP_SAMPLES"] = "100"
# All tests of a process have the same address. Tests of the limit set one.
os.environ["CAPEVAL_SERVER_ANONYMOUS_READS"] = "0"

from capeval_server.config.settings import *  # noqa: E402, F403

# Files are found on request. Otherwise each client of a test lists all files before its first request.
WHITENOISE_AUTOREFRESH = True
