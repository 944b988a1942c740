"""Django's settings, from environment variables: docs/server.md lists them."""

from capeval_server import environment

DATA = environment.data_folder()
SECRET_KEY = environment.secret_key(DATA)
DEBUG = False
ALLOWED_HOSTS = environment.words("HOSTS", "localhost,127.0.0.1,[::1]")
DATABASES = {"default": environment.database(DATA)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "csp",
    "ninja",
    "capeval_server.accounts",
    "capeval_server.challenges",
    "capeval_server.teams",
    "capeval_server.submissions",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
]
ROOT_URLCONF = "capeval_server.urls"
WSGI_APPLICATION = "capeval_server.wsgi.application"
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"

STATIC_URL = "static/"
# The few files there are come from installed packages: nothing to collect first.
WHITENOISE_USE_FINDERS = True
# References and uploads: no address leads to them.
STORAGES = {
    "default": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": DATA / "files", "file_permissions_mode": 0o600, "base_url": None},
    },
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

# Behind a proxy that speaks HTTPS and sets the header; nothing else may reach the server then.
HTTPS = environment.flag("HTTPS")
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "connect-src": ["'self'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}

MEBIBYTE = 2**20
# The most bytes of an upload, and of all that is packed in it.
UPLOAD_BYTES = environment.number("UPLOAD_BYTES", 64 * MEBIBYTE)
UNPACKED_BYTES = environment.number("UNPACKED_BYTES", 128 * MEBIBYTE)
# How long a worker has a submission to itself before another may take it over, unless it renews that.
LEASE_SECONDS = environment.number("LEASE_SECONDS", 60)
# How often scoring a submission is tried when the system fails.
MAX_ATTEMPTS = environment.number("MAX_ATTEMPTS", 3)
# What scoring with one metric may take.
METRIC_SECONDS = environment.number("METRIC_SECONDS", 600)
MEMORY_BYTES = environment.number("MEMORY_BYTES", 4096 * MEBIBYTE)
# How many files of references a worker keeps prepared, each in a process of its own.
PREPARED = environment.number("PREPARED", 2)
# Bootstrap resamples of each interval.
BOOTSTRAP_SAMPLES = environment.number("BOOTSTRAP_SAMPLES", 1000)

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
}
