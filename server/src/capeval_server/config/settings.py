"""Django settings, from the environment variables in docs/server/running.md."""

from importlib.metadata import distribution
from pathlib import Path

import capeval
from capeval_server.config import environment

PACKAGE = Path(__file__).parents[1]
DATA = environment.data_folder()
SECRET_KEY = environment.secret_key(DATA)
# Signatures of the previous key stay valid; see `capeval server rotate-key`.
SECRET_KEY_FALLBACKS = environment.earlier_keys(DATA)
DEBUG = False
ALLOWED_HOSTS = environment.words("HOSTS", "localhost,127.0.0.1,[::1]")
# Whether a proxy terminates HTTPS and sets the forwarding headers. Only the proxy may reach the server then.
HTTPS = environment.flag("HTTPS")
# The site's URL. Links in mail use it, whatever host a request names.
ADDRESS = environment.address(DATA, ALLOWED_HOSTS, https=HTTPS)
# Reads the address again, in processes that may start before the server.
READ_ADDRESS = environment.address
# Forms are accepted from pages of the request's host, of the site's URL, and of these origins.
CSRF_TRUSTED_ORIGINS = [ADDRESS, *environment.origins("TRUSTED_ORIGINS")]
DATABASES = {"default": environment.database(DATA)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "csp",
    "django_htmx",
    "capeval_server.accounts",
    "capeval_server.annotation",
    "capeval_server.challenges",
    "capeval_server.jobs",
    "capeval_server.audit",
    "capeval_server.hosting",
    "capeval_server.teams",
    "capeval_server.submissions",
    "capeval_server.notifications",
    # The form renderer below finds Django's form templates here, after the server's own.
    "django.forms",
]
MIDDLEWARE = [
    "capeval_server.ops.probes.HealthCheckMiddleware",
    "capeval_server.ops.access_log.AccessLogMiddleware",
    # Early, so that responses of later middleware also have the policy.
    "csp.middleware.CSPMiddleware",
    # Between the policy and the middleware that sets cookies.
    "capeval_server.http.framing.FramingMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "capeval_server.http.private_responses.NoStoreMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "capeval_server.http.read_limits.ReadLimitMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "capeval_server.http.error_pages.ErrorPageMiddleware",
    "capeval_server.web.challenge_access.ChallengeAccessMiddleware",
]
ROOT_URLCONF = "capeval_server.config.urls"
WSGI_APPLICATION = "capeval_server.config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        # The server's templates take precedence over those of installed packages.
        "DIRS": [PACKAGE / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "capeval_server.accounts.context_processors.version",
            ],
            "libraries": {
                "challenge_tabs": "capeval_server.web.tabs",
                "organizer_tabs": "capeval_server.web.hosting.tabs",
                "campaign_language": "capeval_server.web.worker.language",
                "invisible": "capeval_server.web.invisible_characters",
                "methods": "capeval_server.web.method_names",
            },
        },
    }
]
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
# Translations of the worker pages; all other pages are in English.
LOCALE_PATHS = [PACKAGE / "locale"]

STATIC_URL = "static/"
# The caption pages use the scripts and styles of `capeval browse`.
STATICFILES_DIRS = [
    PACKAGE / "static",
    ("capeval/report", Path(capeval.__file__).parent / "report" / "assets"),
    # For the page of the API's operations. An installed app would be imported by every command.
    Path(str(distribution("django-ninja").locate_file("ninja/static"))),
]
# The few static files are served from the installed packages, without collectstatic.
WHITENOISE_USE_FINDERS = True
# References and uploads; no URL serves them directly.
FILES = environment.text("FILES", str(DATA / "files"))
STORAGES = {
    "default": environment.files(FILES),
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

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

CSRF_COOKIE_SECURE = SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_HTTPONLY = SESSION_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = SESSION_COOKIE_SAMESITE = "Lax"

# Rate limits must count across all server processes, so the cache is in the database.
CACHES = {
    "default": {
        "BACKEND": "capeval_server.core.database_cache.Cache",
        "LOCATION": "cache",
        # Beyond this number, entries are dropped, including counts of rate limits.
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
}

globals().update(environment.mail())
DEFAULT_FROM_EMAIL = SERVER_EMAIL = environment.text("EMAIL_FROM", "capeval@localhost")

AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in (
        ("UserAttributeSimilarityValidator", {}),
        ("MinimumLengthValidator", {"min_length": 10}),
        ("CommonPasswordValidator", {}),
        ("NumericPasswordValidator", {}),
    )
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = LOGOUT_REDIRECT_URL = "home"
ACCOUNT_ADAPTER = "capeval_server.accounts.adapter.Adapter"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_FORMS = {
    "add_email": "capeval_server.web.accounts.forms.AddressForm",
    "login": "capeval_server.web.accounts.forms.SignInForm",
    "reauthenticate": "capeval_server.web.accounts.forms.ConfirmPasswordForm",
    "reset_password": "capeval_server.web.accounts.forms.ForgottenForm",
    "signup": "capeval_server.web.accounts.forms.SignUpForm",
    "change_password": "capeval_server.web.accounts.forms.ChangeForm",
    "set_password": "capeval_server.web.accounts.forms.SetForm",
    "reset_password_from_key": "capeval_server.web.accounts.forms.ResetForm",
}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = "[capeval] "
ACCOUNT_MAX_EMAIL_ADDRESSES = 5
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if HTTPS else "http"
# Rate limits use the address of the connection, never a header, which clients can forge. Behind a proxy,
# waitress has replaced that address by the one that the proxy reports.
ALLAUTH_TRUSTED_PROXY_COUNT = 0
MFA_FORMS = {
    "activate_totp": "capeval_server.web.accounts.forms.AppForm",
    "authenticate": "capeval_server.web.accounts.forms.CodeForm",
    "reauthenticate": "capeval_server.web.accounts.forms.ConfirmByCodeForm",
}
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "capeval"
# Tolerated clock difference, in steps of 30 seconds.
MFA_TOTP_TOLERANCE = 1

MEBIBYTE = 2**20
# Maximum bytes of an upload, and of its unpacked content.
UPLOAD_BYTES = environment.number("UPLOAD_BYTES", 64 * MEBIBYTE)
UNPACKED_BYTES = environment.number("UNPACKED_BYTES", 128 * MEBIBYTE)
# Maximum bytes of an upload request: the other fields of the form are small.
REQUEST_BYTES = UPLOAD_BYTES + MEBIBYTE
# Maximum bytes of a request to a route that accepts no uploads.
FORM_BYTES = MEBIBYTE
# Maximum total bytes of larger requests that a process stores until it has responded.
SPOOLED_BYTES = environment.number("SPOOLED_BYTES", 4 * REQUEST_BYTES, least=REQUEST_BYTES)
# Maximum number of uploads that are unpacked and checked concurrently in all processes, and the maximum wait
# of other uploads in seconds.
UNPACKED_AT_ONCE = environment.number("UNPACKED_AT_ONCE", 2)
TURN_SECONDS = 30
# Maximum number of checked uploads without a new submission, per user and ten minutes.
REFUSED_UPLOADS = environment.number("REFUSED_UPLOADS", 10)
# Maximum number of GET requests per minute and client network without an account; 0 for no limit.
ANONYMOUS_READS = environment.number("ANONYMOUS_READS", 1200, least=0)
# Maximum length of a caption. Longer captions could probe private references for many words at once.
CAPTION_CHARACTERS = environment.number("CAPTION_CHARACTERS", 1000)
# Duration of a job's lease in seconds; without renewal, another worker may take the job after it.
LEASE_SECONDS = environment.number("LEASE_SECONDS", 60)
# Maximum number of attempts of a job when the system fails.
MAX_ATTEMPTS = environment.number("MAX_ATTEMPTS", 3)
# Pause in seconds before the second attempt; before the third, twice as long, and so on.
RETRY_SECONDS = environment.number("RETRY_SECONDS", 5)
# Limits for scoring with one metric.
METRIC_SECONDS = environment.number("METRIC_SECONDS", 600)
MEMORY_BYTES = environment.number("MEMORY_BYTES", 4096 * MEBIBYTE)
# Maximum number of reference files that a worker keeps loaded, each in its own process.
PREPARED = environment.number("PREPARED", 2)
# Files of campaign releases, which only the server reads.
RELEASES = DATA / "files" / "releases"
# Caches of metrics between submissions, such as parsed captions. All content can be recomputed.
KEPT = DATA / "kept"
# Bootstrap resamples of each interval.
BOOTSTRAP_SAMPLES = environment.number("BOOTSTRAP_SAMPLES", 1000)

# Allowed hosts of organizers' webhooks, as HOST or HOST:PORT; none by default.
WEBHOOK_HOSTS = environment.words("WEBHOOK_HOSTS", "")
# Allowed hosts of campaign images to download, in the same form.
IMAGE_HOSTS = environment.words("IMAGE_HOSTS", "")

# Whether to log each request.
ACCESS_LOG = environment.flag("ACCESS_LOG", default="1")
# The token for Prometheus to read `/metrics`; without a token, metrics are disabled.
METRICS = environment.token("METRICS")
LOG_LEVEL = environment.choice("LOG_LEVEL", ("INFO", "DEBUG", "WARNING", "ERROR"))
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"()": "capeval_server.ops.logging.LineFormatter"},
        "json": {"()": "capeval_server.ops.logging.JsonFormatter"},
    },
    "filters": {
        "outages": {"()": "capeval_server.ops.logging.ShortTracebacks"},
        "routes": {"()": "capeval_server.ops.logging.RouteNameFilter"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": environment.choice("LOG_FORM", ("line", "json")),
            "filters": ["routes", "outages"],
        },
    },
    "root": {
        "handlers": ["stderr"],
        # At DEBUG, libraries log contents: Django's template variables, headers of HTTP clients.
        "level": "INFO" if LOG_LEVEL == "DEBUG" else LOG_LEVEL,
    },
    "loggers": {
        "capeval": {"level": LOG_LEVEL},
        "capeval_server": {"level": LOG_LEVEL},
        # `start` prints the listening address itself.
        "waitress": {"level": "WARNING"},
        "botocore": {"level": "WARNING"},
    },
}
