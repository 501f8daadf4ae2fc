"""Address: where Temporal is, and how its runs are kept, as a URI says it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from newel_kernel import ConfigurationError

_FORM = "temporal://HOST[:PORT][?namespace=default&lease=30&...]"
_TRUTHS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A Temporal server, and how its runs are kept. Times are seconds."""

    host: str = "127.0.0.1:7233"
    namespace: str = "default"
    tls: bool = False
    #: The environment variables that hold an API key, and the keys that payloads are encrypted with.
    api_key: str = ""
    encryption: str = ""
    #: After how long without a heartbeat a run is handed to another worker; not shorter than the store's leases.
    lease: float = 30.0
    #: How often a worker says that it has a run, and hears that it is cancelled; at most a third of `lease`.
    beat: float = 1.0
    #: How long a run waits for a worker that has its app, version and lock.
    misfit: float = 3600.0
    #: How often a run is begun without an outcome, because workers crash or the store is away.
    attempts: int = 25
    #: Whether each call of a model, and of the tools that one answer calls, is an activity of its own.
    steps: bool = False
    #: How many runs a second a queue hands out, over all its workers; 0: no limit.
    per_second: float = 0.0
    #: How long a call waits for Temporal.
    patience: float = 10.0

    def __post_init__(self) -> None:
        problems = [
            f"{name}={getattr(self, name):g}: give a number above 0"
            for name in ("lease", "beat", "misfit", "attempts", "patience")
            if not 0 < getattr(self, name) < math.inf
        ]
        if not 0 <= self.per_second < math.inf:
            problems.append(f"per_second={self.per_second:g}: give 0 for no limit, or more")
        for name in ("api_key", "encryption"):
            if (variable := getattr(self, name)) and not os.environ.get(variable):
                problems.append(f"{name}={variable}: there is no environment variable of that name")
        if problems:
            raise ConfigurationError(f"the address of Temporal is wrong: {'; '.join(problems)}")

    @classmethod
    def of(cls, uri: str) -> Address:
        """The address of ``temporal://host:7233?namespace=default&lease=30``; ConfigurationError if it is not one."""
        try:
            parts = urlsplit(uri)
            is_one = parts.scheme == "temporal" and parts.hostname and not parts.path.strip("/")
            port = parts.port or 7233
        except ValueError:
            is_one = False
        if not is_one:
            raise ConfigurationError(f"this is not an address of Temporal: write {_FORM}")
        if parts.username or parts.password:
            raise ConfigurationError("Temporal takes no password: name an environment variable, api_key=VARIABLE")
        values: dict[str, Any] = {"host": f"{parts.hostname}:{port}"}
        known = {one.name: _READERS[str(one.type)] for one in fields(cls) if one.name != "host"}
        for name, text in parse_qsl(parts.query, keep_blank_values=True):
            if name not in known:
                raise ConfigurationError(f"{name!r} is not a parameter of Temporal's address: {', '.join(known)}")
            try:
                values[name] = known[name](text)
            except (ValueError, KeyError):
                raise ConfigurationError(f"{name}={text!r} in Temporal's address cannot be read") from None
        return cls(**values)


_READERS: dict[str, Callable[[str], object]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": lambda text: _TRUTHS[text.lower()],
}
