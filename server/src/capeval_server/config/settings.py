"""Django's settings, from environment variables: docs/server/running.md lists them."""

from pathlib import Path

import capeval
from capeval_server.config import environment

PACKAGE = Path(__file__).parents[1]
DATA = environment.data_folder()
SECRET_KEY = environment.secret_key(DATA)
# What an earlier key signed stays valid: see `capeval server rotate-key`.
SECRET_KEY_FALLBACKS = environment.earlier_keys(DATA)
DEBUG = False
ALLOWED_HOSTS = environment.words("HOSTS", "localhost,127.0.0.1,[::1]")
# Behind a proxy that speaks HTTPS and sets the header; nothing else may reach the server then.
HTTPS = environment.flag("HTTPS")
# Where users find the site. Links in mail have it, whatever host a request names.
ADDRESS = environment.address(ALLOWED_HOSTS, https=HTTPS)
# Forms are taken from pages of the host that a request names, of the site's address, and of these.
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
    "ninja",
    "capeval_server.accounts",
    "capeval_server.annotation",
    "capeval_server.challenges",
    "capeval_server.jobs",
    "capeval_server.audit",
    "capeval_server.hosting",
    "capeval_server.teams",
    "capeval_server.submissions",
    "capeval_server.notifications",
    # The renderer below finds the templates of forms here, behind the server's own.
    "django.forms",
]
MIDDLEWARE = [
    "capeval_server.ops.probes.HealthCheckMiddleware",
    "capeval_server.ops.access_log.AccessLogMiddleware",
    # Early, so that what those after it answer by themselves has the policy too.
    "csp.middleware.CSPMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "capeval_server.http.error_pages.ErrorPageMiddleware",
]
ROOT_URLCONF = "capeval_server.config.urls"
WSGI_APPLICATION = "capeval_server.config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        # The server's own come before those of the installed packages.
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
                "invisible": "capeval_server.web.invisible_characters",
            },
        },
    }
]
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"

STATIC_URL = "static/"
# The pages of captions have the script and the look of what `capeval browse` writes.
STATICFILES_DIRS = [
    PACKAGE / "static",
    ("capeval/report", Path(capeval.__file__).parent / "report" / "assets"),
]
# The few files there are come from installed packages: nothing to collect first.
WHITENOISE_USE_FINDERS = True
# References and uploads: no address leads to them.
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

# What limits count must be known to all processes of the server, so it is in the database.
CACHES = {
    "default": {
        "BACKEND": "capeval_server.core.database_cache.Cache",
        "LOCATION": "cache",
        # When there are more, some are dropped, and with them the limits that they count for.
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
# Limits count by the address of the connection, never of a header, which anybody can invent: behind a proxy,
# waitress has put there what the proxy says.
ALLAUTH_TRUSTED_PROXY_COUNT = 0
MFA_FORMS = {
    "activate_totp": "capeval_server.web.accounts.forms.AppForm",
    "authenticate": "capeval_server.web.accounts.forms.CodeForm",
    "reauthenticate": "capeval_server.web.accounts.forms.ConfirmByCodeForm",
}
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "capeval"
# Clocks may differ by this many steps of 30 seconds.
MFA_TOTP_TOLERANCE = 1

MEBIBYTE = 2**20
# The most bytes of an upload, and of all that is packed in it.
UPLOAD_BYTES = environment.number("UPLOAD_BYTES", 64 * MEBIBYTE)
UNPACKED_BYTES = environment.number("UNPACKED_BYTES", 128 * MEBIBYTE)
# The most bytes of a request: what a form holds beside the file is little.
REQUEST_BYTES = UPLOAD_BYTES + MEBIBYTE
# The most bytes of a request to a route that accepts no uploads.
FORM_BYTES = MEBIBYTE
# The most bytes of larger requests that a process stores at once, until it has answered them.
SPOOLED_BYTES = environment.number("SPOOLED_BYTES", 4 * REQUEST_BYTES, least=REQUEST_BYTES)
# How many uploads are unpacked and checked at once, in all processes; and how many seconds others wait.
UNPACKED_AT_ONCE = environment.number("UNPACKED_AT_ONCE", 2)
TURN_SECONDS = 30
# How many uploads of a user may make no submission within ten minutes.
REFUSED_UPLOADS = environment.number("REFUSED_UPLOADS", 10)
# The longest caption: longer ones could ask of private references which of very many words they have.
CAPTION_CHARACTERS = environment.number("CAPTION_CHARACTERS", 1000)
# How long a worker has a submission to itself before another may take it over, unless it renews that.
LEASE_SECONDS = environment.number("LEASE_SECONDS", 60)
# How often scoring a submission is tried when the system fails.
MAX_ATTEMPTS = environment.number("MAX_ATTEMPTS", 3)
# How long the second attempt waits after that; the third one twice as long, and so on.
RETRY_SECONDS = environment.number("RETRY_SECONDS", 5)
# What scoring with one metric may take.
METRIC_SECONDS = environment.number("METRIC_SECONDS", 600)
MEMORY_BYTES = environment.number("MEMORY_BYTES", 4096 * MEBIBYTE)
# How many files of references a worker keeps prepared, each in a process of its own.
PREPARED = environment.number("PREPARED", 2)
# The files of campaigns' releases, which only the server itself reads.
RELEASES = DATA / "files" / "releases"
# What metrics keep between submissions, such as parsed captions. All of it can be made again.
KEPT = DATA / "kept"
# Bootstrap resamples of each interval.
BOOTSTRAP_SAMPLES = environment.number("BOOTSTRAP_SAMPLES", 1000)

# The hosts that organizers' webhooks may have, as HOST or HOST:PORT: none by default.
WEBHOOK_HOSTS = environment.words("WEBHOOK_HOSTS", "")
# The hosts that pictures of campaigns are fetched from, likewise.
IMAGE_HOSTS = environment.words("IMAGE_HOSTS", "")

# Whether each request is a line of the log.
ACCESS_LOG = environment.flag("ACCESS_LOG", default="1")
# The token with which Prometheus reads `/metrics`; without it there are none.
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
        "outages": {"()": "capeval_server.ops.logging.ShortOutages"},
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
        # At DEBUG, libraries log contents: Django's templates their variables, clients their headers.
        "level": "INFO" if LOG_LEVEL == "DEBUG" else LOG_LEVEL,
    },
    "loggers": {
        "capeval": {"level": LOG_LEVEL},
        "capeval_server": {"level": LOG_LEVEL},
        # `start` says itself where it listens.
        "waitress": {"level": "WARNING"},
        "botocore": {"level": "WARNING"},
    },
}
