"""`newel plugins`: the known plugins, and why each takes part or not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from newel.cli.known_plugins import known_plugins
from newel.cli.plugin_settings import settings_of
from newel.cli.startup import composition_of
from newel.cli.terminal import lines_of, say, show_json, show_table, to_terminal
from newel_compose import Composition, PluginRecord, describe_error, import_seconds, installed_points, load
from newel_kernel import ConfigurationError, Json, NewelError, did_you_mean, is_interrupt, plain

#: The groups in which packages have plugins.
GROUPS = ("newel.plugins", "newel.evaluation")
STATES = ("enabled", "off", "left out", "failed", "disabled", "available")


@dataclass(frozen=True, slots=True)
class Listing:
    """The plugins of a distribution; `composition` is None if they do not compose."""

    composition: Composition | None
    records: Sequence[PluginRecord]

    @property
    def name(self) -> str:
        """The distribution's name."""
        return self.composition.distribution.name if self.composition is not None else "none"


_distribution = click.option(
    "--distribution", metavar="NAME|FILE", help="The distribution; by default the current folder's."
)


@click.group("plugins", invoke_without_command=True)
@_distribution
@click.pass_context
def plugins(ctx: click.Context, distribution: str | None) -> None:
    """List the plugins with their state; a table on a terminal, else JSON."""
    ctx.meta[__name__] = distribution
    if ctx.invoked_subcommand is None:
        _show_list(ctx, _plugins_of(ctx, distribution), (), None, timed=False)


@plugins.command("list")
@click.option(
    "--state", "states", multiple=True, type=click.Choice(STATES), help="Only plugins in this state; may be repeated."
)
@click.option("--from", "package", metavar="PACKAGE", help="Only plugins of this package, such as newel-redact.")
@click.option("--time", "timed", is_flag=True, help="With the milliseconds that each took to import, slowest first.")
@_distribution
@click.pass_context
def list_plugins(
    ctx: click.Context, states: tuple[str, ...], package: str | None, timed: bool, distribution: str | None
) -> None:
    """List the plugins, or some of them."""
    _show_list(ctx, _plugins_of(ctx, distribution), states, package, timed=timed)


@plugins.command("settings")
@click.argument("name", required=False)
@_distribution
@click.pass_context
def settings(ctx: click.Context, name: str | None, distribution: str | None) -> None:
    """Show every setting of the plugin NAME, or of all: type, default, current value and its source, description."""
    composition = composition_of(ctx, distribution or ctx.meta[__name__])
    rows = settings_of(composition, name)
    if not to_terminal():
        show_json(rows)
        return
    columns = ("plugin", "setting", "type", "default", "value", "source", "description")
    cells = [[row[one] if isinstance(row[one], str) else json.dumps(row[one]) for one in columns] for row in rows]
    show_table(f"settings (distribution {composition.distribution.name})", columns, cells)


def _plugins_of(ctx: click.Context, distribution: str | None) -> Listing:
    """The plugins of the named distribution; an error on stderr if they do not compose."""
    try:
        composition = composition_of(ctx, distribution or ctx.meta[__name__])
    except NewelError as error:
        lines = lines_of(error)
        text = f" {lines[0]}" if len(lines) == 1 else "".join(f"\n  {line}" for line in lines)
        say(f"Error: the plugins do not compose:{text}", err=True)
        return Listing(None, _installed())
    return Listing(composition, _with_off_state(composition.plugins))


def _show_list(
    ctx: click.Context, plugins: Listing, states: Sequence[str], package: str | None, *, timed: bool
) -> None:
    packages = {record.distribution for record in plugins.records}
    if package is not None and package not in packages:
        hint = did_you_mean(package, packages) or f" (there are: {', '.join(sorted(packages))})"
        raise ConfigurationError(f"no plugin is from {package!r}{hint}")
    records = [r for r in plugins.records if (not states or r.state in states) and package in (None, r.distribution)]
    times: dict[str, str] = {}
    if timed:
        times = {r.name: f"{import_seconds.get(r.name, 0.0) * 1000:.1f}" for r in records}
        records.sort(key=lambda r: -float(times[r.name]))
    if to_terminal():
        columns = ("plugin", "from", "version", "state", "why", "hooks", *(["ms"] if timed else []))
        rows = [
            [r.name, r.distribution, r.version, r.state, r.why, ", ".join(r.hooks), *times.get(r.name, "").split()]
            for r in records
        ]
        show_table(f"distribution {plugins.name}", columns, rows, optional="hooks")
    else:
        show_json([{**r._asdict(), **({"import_ms": float(times[r.name])} if timed else {})} for r in records])
    _exit_if_broken(ctx, plugins)


def _exit_if_broken(ctx: click.Context, plugins: Listing) -> None:
    """Exit with status 2 if the plugins do not compose, whatever was printed about them."""
    if plugins.composition is None:
        ctx.exit(2)


@plugins.command("why")
@click.argument("name")
@_distribution
@click.pass_context
def why(ctx: click.Context, name: str, distribution: str | None) -> None:
    """Say why the plugin NAME is in or out, what it provides, and where its processors stand."""
    plugins = _plugins_of(ctx, distribution)
    composition, records = plugins.composition, plugins.records
    record = next((r for r in records if r.name == name), None)
    if record is None:
        names = [r.name for r in records]
        hint = did_you_mean(name, names) or f"; `newel plugins` lists the {len(names)} that are"
        raise ConfigurationError(f"no plugin {name!r} is installed{hint}")
    provides = _provided(composition, name) if composition is not None else []
    places = _places(composition, name) if composition is not None else []
    if not to_terminal():
        show_json({**record._asdict(), "provides": provides, "places": places})
    else:
        _explain(record, provides, places)
    _exit_if_broken(ctx, plugins)


@plugins.command("search")
@click.argument("words", nargs=-1)
def search(words: tuple[str, ...]) -> None:
    """List known packages with plugins that say each of WORDS; all of them if there are no WORDS.

    The list comes with newel: nothing is asked of a network.
    """
    versions = {point.distribution: point.version for group in GROUPS for point in installed_points(group)}
    found = [one for one in known_plugins() if all(one.has(word) for word in words)]
    if not to_terminal():
        show_json([{**one.model_dump(), "installed": versions.get(one.package)} for one in found])
    elif not found:
        say(f"no known plugin says {' '.join(words)!r}; an index may have one that is not on the list")
    else:
        rows = [
            [
                one.package,
                one.summary,
                ", ".join(one.plugins),
                versions.get(one.package) or f"pip install {one.package}",
            ]
            for one in found
        ]
        show_table("known plugins", ("package", "what for", "plugins", "installed"), rows)


def _explain(record: PluginRecord, provides: Sequence[Json], places: Sequence[Json]) -> None:
    """Print the same in words."""
    say(f"{record.name} ({record.source})", bold=True)
    say(f"  {record.state}: {record.why}")
    if record.hooks:
        say(f"  hooks: {', '.join(record.hooks)}")
    for missing in record.left_out:
        say(f"  left out: {missing}")
    for use in record.deprecated:
        say(f"  deprecated: it {use}")
    for item in provides:
        say(f"  provides {item['kind']} {item['name']!r} ({item['address']})")
    for place in places:
        beside = ", ".join(f"{side} {place[side]!r}" for side in ("after", "before") if place[side])
        where = f"place {place['place']} of {place['of']}" + (f", {beside}" if beside else "")
        say(f"  {place['chain']}: {place['name']!r} is at {where} (placed by: {place['why']})")


def _with_off_state(records: Sequence[PluginRecord]) -> list[PluginRecord]:
    """The records, with the state `off` for plugins that take part but can do nothing: their `why_off()` says why."""
    loaded, _ = load([record.name for record in records if record.state == "enabled"])
    reasons = {name: _why_off(plugin) for name, plugin in loaded.items()}
    return [r._replace(state="off", why=reason) if (reason := reasons.get(r.name)) else r for r in records]


def _why_off(plugin: Any) -> str | None:
    try:
        why_off = getattr(plugin, "why_off", None)
        return plain(reason, 600) if callable(why_off) and (reason := why_off()) else None
    except BaseException as error:  # a plugin boundary
        if is_interrupt(error):
            raise
        return f"its why_off() failed: {describe_error(error)}"


def _provided(composition: Composition, name: str) -> list[dict[str, str]]:
    return [
        {"kind": kind.__name__, "name": item, "address": composition.registry.address(kind, item)}
        for kind, descriptors in composition.registry.kinds()
        for item, owned in descriptors.items()
        if owned.plugin == name
    ]


def _places(composition: Composition, name: str) -> list[Json]:
    """Where the plugin's processors stand, counted from 1, each with its neighbours and what placed it."""
    places = []
    for chain, placed in composition.placed.items():
        names = [None, *(one.stage.name for one in placed), None]
        places += [
            {
                "chain": chain,
                "name": one.stage.name,
                "place": place,
                "of": len(placed),
                "after": names[place - 1],
                "before": names[place + 1],
                "why": one.why,
            }
            for place, one in enumerate(placed, 1)
            if one.plugin == name
        ]
    return places


def _installed() -> list[PluginRecord]:
    """The installed plugins, each loaded by itself; used if they do not compose."""
    points = installed_points()
    _, failures = load(list(dict.fromkeys(point.name for point in points)))
    records = []
    for point in points:
        failure = failures.get(point.name)
        state, reason = "available", "installed; it loads, but the distribution does not compose"
        if failure is not None:
            state, reason = "failed", f"failed to load: {describe_error(failure)}"
        records.append(PluginRecord(point.name, point.distribution, point.version, state, reason))
    return records
