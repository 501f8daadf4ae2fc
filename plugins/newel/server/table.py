"""The table of the built-in routes; the endpoints load with the server."""

from __future__ import annotations

from newel.server.kinds import WEBSOCKET, Route
from newel_types import deferred

_SESSIONS = "/apps/{app_name}/users/{user_id}/sessions"
_SESSION = f"{_SESSIONS}/{{session_id}}"
_ARTIFACTS = f"{_SESSION}/artifacts"
_ARTIFACT = f"{_ARTIFACTS}/{{artifact_name:path}}"
_VERSION = f"{_ARTIFACT}/versions/{{version_id}}"
_RUN = f"{_SESSION}/runs/{{run_id}}"

_SERVICE = [
    Route(name="root", path="/", load=deferred("newel.server.endpoints.ui", "root")),
    Route(name="health", path="/health", load=deferred("newel.server.endpoints.service", "health")),
    Route(name="version", path="/version", load=deferred("newel.server.endpoints.service", "version")),
    Route(name="openapi", path="/openapi.json", load=deferred("newel.server.endpoints.documents", "openapi")),
    Route(name="docs", path="/docs", load=deferred("newel.server.endpoints.documents", "docs")),
    Route(name="list_apps", path="/list-apps", load=deferred("newel.server.endpoints.apps", "list_apps")),
    Route(
        name="app_info", path="/apps/{app_name}/app-info", load=deferred("newel.server.endpoints.app_info", "app_info")
    ),
]
_OF_SESSIONS = [
    Route(
        name="create_session",
        method="POST",
        path=_SESSIONS,
        load=deferred("newel.server.endpoints.sessions", "create_session"),
    ),
    Route(name="list_sessions", path=_SESSIONS, load=deferred("newel.server.endpoints.sessions", "list_sessions")),
    Route(
        name="create_session_with_id",
        method="POST",
        path=_SESSION,
        load=deferred("newel.server.endpoints.sessions", "create_session_with_id"),
    ),
    Route(name="get_session", path=_SESSION, load=deferred("newel.server.endpoints.sessions", "get_session")),
    Route(
        name="list_events", path=f"{_SESSION}/events", load=deferred("newel.server.endpoints.sessions", "list_events")
    ),
    Route(
        name="update_session",
        method="PATCH",
        path=_SESSION,
        load=deferred("newel.server.endpoints.sessions", "update_session"),
    ),
    Route(
        name="delete_session",
        method="DELETE",
        path=_SESSION,
        load=deferred("newel.server.endpoints.sessions", "delete_session"),
    ),
    Route(
        name="update_memory",
        method="PATCH",
        path="/apps/{app_name}/users/{user_id}/memory",
        load=deferred("newel.server.endpoints.memory", "update_memory"),
    ),
]
_RUNS = [
    Route(name="run", method="POST", path="/run", load=deferred("newel.server.endpoints.runs", "run")),
    Route(name="run_sse", method="POST", path="/run_sse", load=deferred("newel.server.endpoints.runs", "run_sse")),
    Route(name="list_runs", path=f"{_SESSION}/runs", load=deferred("newel.server.endpoints.runs", "list_runs")),
    Route(
        name="list_user_runs",
        path="/apps/{app_name}/users/{user_id}/runs",
        load=deferred("newel.server.endpoints.runs", "list_user_runs"),
    ),
    Route(name="follow_run", path=f"{_RUN}/events", load=deferred("newel.server.endpoints.runs", "follow_run")),
    Route(
        name="cancel_run",
        method="POST",
        path=f"{_RUN}/cancel",
        load=deferred("newel.server.endpoints.runs", "cancel_run"),
    ),
    Route(
        name="run_live", method=WEBSOCKET, path="/run_live", load=deferred("newel.server.endpoints.live", "run_live")
    ),
]
_OF_ARTIFACTS = [
    Route(name="list_artifacts", path=_ARTIFACTS, load=deferred("newel.server.endpoints.artifacts", "list_artifacts")),
    Route(
        name="save_artifact",
        method="POST",
        path=_ARTIFACTS,
        load=deferred("newel.server.endpoints.artifacts", "save_artifact"),
    ),
    Route(name="load_artifact", path=_ARTIFACT, load=deferred("newel.server.endpoints.artifacts", "load_artifact")),
    Route(
        name="delete_artifact",
        method="DELETE",
        path=_ARTIFACT,
        load=deferred("newel.server.endpoints.artifacts", "delete_artifact"),
    ),
    Route(
        name="list_artifact_versions",
        path=f"{_ARTIFACT}/versions",
        load=deferred("newel.server.endpoints.artifacts", "list_versions"),
    ),
    Route(
        name="list_artifact_metadata",
        path=f"{_ARTIFACT}/versions/metadata",
        load=deferred("newel.server.endpoints.artifacts", "list_metadata"),
    ),
    Route(
        name="load_artifact_version", path=_VERSION, load=deferred("newel.server.endpoints.artifacts", "load_version")
    ),
    Route(
        name="get_artifact_metadata",
        path=f"{_VERSION}/metadata",
        load=deferred("newel.server.endpoints.artifacts", "get_metadata"),
    ),
]
_OF_QUESTIONS = [
    Route(
        name="list_user_questions",
        path="/apps/{app_name}/users/{user_id}/questions",
        load=deferred("newel.server.endpoints.questions", "list_user_questions"),
    ),
    Route(
        name="list_questions",
        path=f"{_SESSION}/questions",
        load=deferred("newel.server.endpoints.questions", "list_questions"),
    ),
    Route(
        name="answer_question",
        method="POST",
        path=f"{_SESSION}/questions/{{question_id}}",
        load=deferred("newel.server.endpoints.questions", "answer_question"),
    ),
    Route(
        name="steer",
        method="POST",
        path=f"{_SESSION}/steer",
        load=deferred("newel.server.endpoints.questions", "steer"),
    ),
]
_OF_FEEDBACK = [
    Route(
        name="rate_event",
        method="POST",
        path=f"{_SESSION}/events/{{event_id}}/feedback",
        load=deferred("newel.server.endpoints.feedback", "rate_event"),
    ),
    Route(
        name="list_feedback",
        path="/apps/{app_name}/users/{user_id}/feedback",
        load=deferred("newel.server.endpoints.feedback", "list_feedback"),
    ),
]
ROUTES = [*_SERVICE, *_OF_SESSIONS, *_RUNS, *_OF_QUESTIONS, *_OF_ARTIFACTS, *_OF_FEEDBACK]
