"""Authorizes requests to the API by a token and its scope."""

from __future__ import annotations

from django.http import HttpRequest
from ninja.errors import AuthorizationError
from ninja.security import HttpBearer

from capeval_server.accounts.models import Token

__all__ = ["ORGANIZE", "READ", "SUBMIT", "Bearer", "token_of"]

# Each scope includes those before it.
_SCOPES = [Token.Scope.READ, Token.Scope.SUBMIT, Token.Scope.ORGANIZE]


class Bearer(HttpBearer):
    """Accepts tokens with a scope, or with one that includes it."""

    def __init__(self, scope: Token.Scope) -> None:
        super().__init__()
        self._scopes = _SCOPES[_SCOPES.index(scope) :]

    def authenticate(self, request: HttpRequest, token: str) -> Token | None:
        """The valid token with that text, if there is one."""
        found = Token.of_text(token)
        if found is not None and found.scope not in self._scopes:
            wanted = " or ".join(repr(str(scope)) for scope in self._scopes)
            raise AuthorizationError(message=f"the token's scope must be {wanted}")
        return found


def token_of(request: HttpRequest) -> Token:
    """The token of the request."""
    token: Token = request.auth  # type: ignore[attr-defined]
    return token


READ, SUBMIT, ORGANIZE = map(Bearer, _SCOPES)
