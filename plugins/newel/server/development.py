"""The table of the routes for development; the older paths, and the names with underscores, are aliases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from newel.server.kinds import Route
from newel_types import deferred

_EVENT = "/users/{user_id}/sessions/{session_id}/events/{event_id}/graph"
_CASE = "{eval_set_id}/eval-cases/{eval_case_id}"
_OLD_CASE = "{eval_set_id}/evals/{eval_case_id}"


def _route(name: str, method: str, paths: tuple[str, ...], load: Callable[[], Any]) -> Route:
    """A route below each of the two prefixes of an app."""
    path, *aliases = [f"{prefix}/{{app_name}}{one}" for prefix in ("/dev/apps", "/apps") for one in paths]
    return Route(name=name, method=method, path=path, aliases=tuple(aliases), load=load, development=True)


_EVALUATION = [
    _route(
        "create_eval_set",
        "POST",
        ("/eval-sets",),
        deferred("newel.server.endpoints.evaluation", "create_eval_set"),
    ),
    _route("list_eval_sets", "GET", ("/eval-sets",), deferred("newel.server.endpoints.evaluation", "list_eval_sets")),
    _route(
        "create_legacy_eval_set",
        "POST",
        ("/eval_sets/{eval_set_id}",),
        deferred("newel.server.endpoints.evaluation", "create_legacy_eval_set"),
    ),
    _route(
        "list_legacy_eval_sets",
        "GET",
        ("/eval_sets",),
        deferred("newel.server.endpoints.evaluation", "list_legacy_eval_sets"),
    ),
    _route(
        "list_eval_cases",
        "GET",
        ("/eval_sets/{eval_set_id}/evals",),
        deferred("newel.server.endpoints.evaluation", "list_cases"),
    ),
    _route(
        "get_eval_case",
        "GET",
        (f"/eval-sets/{_CASE}", f"/eval_sets/{_OLD_CASE}"),
        deferred("newel.server.endpoints.evaluation", "get_case"),
    ),
    _route(
        "update_eval_case",
        "PUT",
        (f"/eval-sets/{_CASE}", f"/eval_sets/{_OLD_CASE}"),
        deferred("newel.server.endpoints.evaluation", "update_case"),
    ),
    _route(
        "delete_eval_case",
        "DELETE",
        (f"/eval-sets/{_CASE}", f"/eval_sets/{_OLD_CASE}"),
        deferred("newel.server.endpoints.evaluation", "delete_case"),
    ),
    _route(
        "add_session_to_eval_set",
        "POST",
        ("/eval-sets/{eval_set_id}/add-session", "/eval_sets/{eval_set_id}/add_session"),
        deferred("newel.server.endpoints.evaluation", "add_session"),
    ),
    _route(
        "run_eval",
        "POST",
        ("/eval-sets/{eval_set_id}/run",),
        deferred("newel.server.endpoints.evaluation", "run_eval"),
    ),
    _route(
        "run_legacy_eval",
        "POST",
        ("/eval_sets/{eval_set_id}/run_eval",),
        deferred("newel.server.endpoints.evaluation", "run_legacy_eval"),
    ),
    _route(
        "list_eval_results", "GET", ("/eval-results",), deferred("newel.server.endpoints.evaluation", "list_results")
    ),
    _route(
        "list_legacy_eval_results",
        "GET",
        ("/eval_results",),
        deferred("newel.server.endpoints.evaluation", "list_legacy_results"),
    ),
    _route(
        "get_eval_result",
        "GET",
        ("/eval-results/{eval_result_id}", "/eval_results/{eval_result_id}"),
        deferred("newel.server.endpoints.evaluation", "get_result"),
    ),
    _route(
        "list_eval_runs",
        "GET",
        ("/eval-sets/{eval_set_id}/runs",),
        deferred("newel.server.endpoints.eval_runs", "list_eval_runs"),
    ),
    _route(
        "list_metrics",
        "GET",
        ("/metrics-info", "/eval_metrics"),
        deferred("newel.server.endpoints.evaluation", "list_metrics"),
    ),
]
_GRAPHS = [
    _route("build_graph", "GET", ("/build_graph", "/graph"), deferred("newel.server.endpoints.graphs", "build_graph")),
    _route(
        "build_graph_image",
        "GET",
        ("/build_graph_image",),
        deferred("newel.server.endpoints.graphs", "build_graph_image"),
    ),
    _route("show_picture", "GET", ("/picture",), deferred("newel.server.endpoints.graphs", "show_picture")),
    _route("event_graph", "GET", (_EVENT,), deferred("newel.server.endpoints.graphs", "event_graph")),
    Route(
        name="read_agent_file",
        path="/dev/apps/{app_name}/builder",
        aliases=("/builder/app/{app_name}",),
        load=deferred("newel.server.endpoints.builder", "read_agent_file"),
        development=True,
    ),
]
_BUILDER = [
    Route(
        name=name,
        method="POST",
        path=path,
        aliases=aliases,
        load=load,
        development=True,
        builder=True,
    )
    for name, path, aliases, load in (
        (
            "save_agent_files",
            "/dev/apps/{app_name}/builder/save",
            (),
            deferred("newel.server.endpoints.builder", "save_agent_files"),
        ),
        (
            "save_named_agent_files",
            "/builder/save",
            (),
            deferred("newel.server.endpoints.builder", "save_named_agent_files"),
        ),
        (
            "cancel_agent_files",
            "/dev/apps/{app_name}/builder/cancel",
            ("/builder/app/{app_name}/cancel",),
            deferred("newel.server.endpoints.builder", "cancel_agent_files"),
        ),
    )
]
_TRACES = [
    Route(name=name, path=path, load=load, development=True)
    for name, path, load in (
        (
            "trace_of_session",
            "/dev/apps/{app_name}/debug/trace/session/{session_id}",
            deferred("newel.server.endpoints.traces", "trace_of_session"),
        ),
        (
            "trace_of_event",
            "/dev/apps/{app_name}/debug/trace/{event_id}",
            deferred("newel.server.endpoints.traces", "trace_of_event"),
        ),
        (
            "old_trace_of_session",
            "/debug/trace/session/{session_id}",
            deferred("newel.server.endpoints.traces", "trace_of_session"),
        ),
        ("old_trace_of_event", "/debug/trace/{event_id}", deferred("newel.server.endpoints.traces", "trace_of_event")),
    )
]
_INSIGHTS = [
    Route(name=name, path=path, load=load, development=True)
    for name, path, load in (
        (
            "list_model_calls",
            "/dev/apps/{app_name}/users/{user_id}/sessions/{session_id}/model-calls",
            deferred("newel.server.endpoints.model_calls", "list_model_calls"),
        ),
        (
            "list_session_summaries",
            "/dev/apps/{app_name}/users/{user_id}/session-summaries",
            deferred("newel.server.endpoints.summaries", "list_summaries"),
        ),
        ("list_session_owners", "/dev/session-owners", deferred("newel.server.endpoints.owners", "list_owners")),
        (
            "search_memory",
            "/dev/apps/{app_name}/users/{user_id}/memory",
            deferred("newel.server.endpoints.memory", "search_memory"),
        ),
        ("show_composition", "/dev/composition", deferred("newel.server.endpoints.composition", "show_composition")),
    )
]
_INSIGHTS += [
    Route(name=name, method="POST", path=path, load=load, development=True)
    for name, path, load in (
        ("try_composition", "/dev/composition/trial", deferred("newel.server.endpoints.trials", "try_composition")),
        (
            "replay_model_call",
            "/dev/apps/{app_name}/users/{user_id}/sessions/{session_id}/model-calls/{number}/replay",
            deferred("newel.server.endpoints.model_calls", "replay_model_call"),
        ),
        (
            "import_session",
            "/dev/apps/{app_name}/users/{user_id}/sessions/import",
            deferred("newel.server.endpoints.imports", "import_session"),
        ),
    )
]
_UI = [
    Route(name=name, path=path, load=load, development=True)
    for name, path, load in (
        ("dev_ui", "/dev-ui", deferred("newel.server.endpoints.ui", "dev_ui")),
        ("dev_ui_index", "/dev-ui/", deferred("newel.server.endpoints.ui", "index")),
        ("dev_ui_config", "/dev-ui/config", deferred("newel.server.endpoints.ui", "ui_config")),
        (
            "dev_ui_runtime_config",
            "/dev-ui/assets/config/runtime-config.json",
            deferred("newel.server.endpoints.ui", "runtime_config"),
        ),
        ("dev_ui_asset", "/dev-ui/{name:path}", deferred("newel.server.endpoints.ui", "asset")),
        ("telemetry_config", "/config/telemetry", deferred("newel.server.endpoints.ui", "telemetry_config")),
    )
]
_UI.append(
    Route(
        name="set_telemetry_config",
        method="POST",
        path="/config/telemetry",
        load=deferred("newel.server.endpoints.ui", "telemetry_config"),
        development=True,
    )
)
ROUTES = [*_EVALUATION, *_GRAPHS, *_BUILDER, *_TRACES, *_INSIGHTS, *_UI]
