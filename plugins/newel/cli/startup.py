"""Startup: the composition that a command finds, or the reason why there is none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click

from newel_compose import Composition, compose, describe_error
from newel_kernel import ConfigurationError, NewelError


@dataclass(frozen=True, slots=True)
class Startup:
    """The composition of the present folder's distribution, or the error of composing it."""

    composition: Composition | None = None
    error: NewelError | None = None


def start() -> Startup:
    """Compose once; an error is kept for the command that needs the composition."""
    try:
        with _output_kept():
            return Startup(composition=compose())
    except NewelError as error:
        return Startup(error=error)
    except OSError as error:  # a file that cannot be read
        return Startup(error=ConfigurationError(f"the distribution cannot be read: {error}"))
    except Exception as error:  # noqa: BLE001 - a plugin boundary: composing runs their code
        failure = ConfigurationError(f"the plugins cannot be composed: {describe_error(error)}")
        failure.__cause__ = error
        return Startup(error=failure)


@contextmanager
def _output_kept() -> Iterator[None]:
    """Let what plugins write past Python's streams go to stderr: stdout has the command's output alone."""
    try:
        output = os.dup(1)
        os.dup2(2, 1)
    except OSError:  # one of them is closed
        yield
        return
    try:
        yield
    finally:
        os.dup2(output, 1)
        os.close(output)


def startup_of(ctx: click.Context) -> Startup:
    """The startup of this call, shared by the group and its command."""
    root = ctx.find_root()
    if not isinstance(root.obj, Startup):
        root.obj = start()
    return root.obj


def composition_of(ctx: click.Context, distribution: str | None) -> Composition:
    """The composition of the distribution that an option names, else of the present folder's."""
    if distribution is not None:
        return compose(distribution)
    startup = startup_of(ctx)
    if startup.composition is None:
        assert startup.error is not None
        raise startup.error
    return startup.composition
