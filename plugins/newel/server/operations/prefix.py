"""Prefix: the path below which a proxy shows the server, whether or not the proxy takes it off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_kernel import ConfigurationError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from newel.server.options import Options


def prefixed(app: ASGIApp, options: Options) -> ASGIApp:
    """`app` below the prefix of the options; without one `app` itself."""
    return _Prefixed(app, options.url_prefix) if options.url_prefix else app


def checked_prefix(prefix: str) -> str:
    """A prefix as `--url-prefix` takes it, without a slash at its end."""
    if prefix.strip("/") and (not prefix.startswith("/") or not prefix.isascii() or set(prefix) & set(' ?#%\\"<>')):
        raise ConfigurationError(f"--url-prefix {prefix!r} must be the beginning of a path, such as /agents")
    return prefix.rstrip("/")


class _Prefixed:
    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix
        self._raw = prefix.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            scope = {**scope, "root_path": scope.get("root_path", "") + self._prefix}
            if not f"{scope['path']}/".startswith(f"{self._prefix}/"):  # a proxy has taken it off
                scope["path"] = self._prefix + scope["path"]
                if scope.get("raw_path") is not None:
                    scope["raw_path"] = self._raw + scope["raw_path"]
        await self._app(scope, receive, send)
