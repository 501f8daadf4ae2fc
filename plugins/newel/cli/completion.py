"""`newel completion`: what a shell needs to complete commands, options and their values."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from newel_kernel import FeatureUnavailableError

_VARIABLE = "_NEWEL_COMPLETE"
_FILES = {"bash": "~/.bashrc", "zsh": "~/.zshrc", "fish": "~/.config/fish/completions/newel.fish"}


@click.command("completion")
@click.argument("shell", type=click.Choice(sorted(_FILES)))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes newel's commands in SHELL.

    bash and zsh: add `eval "$(newel completion bash)"` to ~/.bashrc (or zsh to ~/.zshrc).
    fish: newel completion fish > ~/.config/fish/completions/newel.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise FeatureUnavailableError(f"click has no completion for {shell}; upgrade it: pip install -U click")
    root = ctx.find_root()
    try:
        click.echo(kind(root.command, {}, "newel", _VARIABLE).source())
    except RuntimeError as error:  # a bash that is too old
        raise FeatureUnavailableError(str(error)) from None
