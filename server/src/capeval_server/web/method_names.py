"""Template filter for the name of a submission's method."""

from __future__ import annotations

from django.template import Library

from capeval_server.submissions.selectors.method_names import name_method

__all__ = ["register"]

register = Library()
register.filter("method", name_method)
