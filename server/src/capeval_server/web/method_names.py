"""Template filters for the names of a submission's method and system."""

from __future__ import annotations

from django.template import Library

from capeval_server.submissions.selectors.method_names import name_method, name_system

__all__ = ["register"]

register = Library()
register.filter("method", name_method)
register.filter("system", name_system)
