"""Bearer authentication with token scopes."""

from __future__ import annotations

from django.http import HttpRequest
from ninja.errors import AuthorizationError
from ninja.security import HttpBearer

from capeval_server.accounts.models import Token

__all__ = ["ORGANIZE", "READ", "SUBMIT", "Bearer", "token_of"]

# Each scope includes the scopes before it.
_SCOPES = [Token.Scope.READ, Token.Scope.SUBMIT, Token.Scope.ORGANIZE]


class Bearer(HttpBearer):
    """Bearer authentication that requires a token with at least a given scope."""

    def __init__(self, scope: Token.Scope) -> None:
        super().__init__()
        self._scopes = _SCOPES[_SCOPES.index(scope) :]

    def authenticate(self, request: HttpRequest, token: str) -> Token | None:
        """Return the valid token with a text, or None.

        Raises:
            AuthorizationError: The scope of the token is too narrow.
        """
        found = Token.of_text(token)
        if found is not None and found.scope not in self._scopes:
            wanted = " or ".join(repr(str(scope)) for scope in self._scopes)
            raise AuthorizationError(message=f"the token's scope must be {wanted}")
        return found


def token_of(request: HttpRequest) -> Token:
    """Return the token that authenticates the request."""
    token: Token = request.auth  # type: ignore[attr-defined]
    return token


READ, SUBMIT, ORGANIZE = map(Bearer, _SCOPES)
