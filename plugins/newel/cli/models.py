"""`newel models`: what an agent's `model` may name, what a model can do, and what it costs."""

from __future__ import annotations

from dataclasses import fields

import click

from newel.cli.startup import composition_of
from newel.cli.terminal import say, show_json, show_table, to_terminal
from newel.events.text import one_line
from newel.models.catalogue import end_of, ending
from newel.models.contract import ModelCapabilities
from newel.models.kinds import ModelProvider, default_model, model_of
from newel.models.policies.model_costs import price_of
from newel_compose import Composition
from newel_kernel import Json, NewelError


@click.command("models")
@click.argument("address", required=False)
@click.option("--distribution", metavar="NAME|FILE", help="The distribution; by default the current folder's.")
@click.pass_context
def models(ctx: click.Context, address: str | None, distribution: str | None) -> None:
    """List the providers of models; with ADDRESS, what that model can do and costs. JSON, unless on a terminal."""
    composition = composition_of(ctx, distribution)
    if address is not None:
        _show_model(composition, address)
        return
    providers = [_provider(one) for one in composition.registry.all(ModelProvider)]
    if not to_terminal():
        show_json(providers)
        return
    rows = [[str(one["address"]), ", ".join(one["names"]), str(one["description"])] for one in providers]
    show_table("providers of models", ("address", "bare names", "what"), rows)
    say(f"an agent without a model uses {_default(composition)}")


def _provider(provider: ModelProvider) -> Json:
    return {
        "provider": provider.name,
        "address": f"{provider.name}:NAME",
        "names": list(provider.patterns),
        "description": provider.description,
    }


def _default(composition: Composition) -> str:
    try:
        return default_model(composition)
    except NewelError as error:
        return f"none: {one_line(error)}"


def _show_model(composition: Composition, address: str) -> None:
    model = model_of(composition, address)
    provider = getattr(model, "provider", "")
    facts: Json = {
        "address": address,
        "class": f"{type(model).__module__}.{type(model).__qualname__}",
        "capabilities": _capabilities(model.capabilities),
        "price": price_of(provider, model.model),
        "ends": str(end.day) if (end := end_of(address)) is not None else None,
    }
    if not to_terminal():
        show_json(facts)
        return
    say(f"{address} ({facts['class']})", bold=True)
    for name, value in facts["capabilities"].items():
        words = ", ".join(value) or "none" if isinstance(value, list) else ("yes" if value else "no")
        say(f"  {name.replace('_', ' ')}: {words}")
    say(f"  price: {facts['price'] or 'not known'}")
    if told := ending(address):
        say(f"  {told}", fg="yellow")


def _capabilities(capable: ModelCapabilities) -> Json:
    values = {field.name: getattr(capable, field.name) for field in fields(capable)}
    return {name: sorted(value) if isinstance(value, frozenset) else value for name, value in values.items()}
