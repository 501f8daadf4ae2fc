"""The table of routes: what is found, what is refused, and a plugin's own routes."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from pydantic import BaseModel
from tests.plugins.server.conftest import Serve

from newel.server import Call, Options, Refusal, Route, UserOf, app, endpoint
from newel.server.endpoints import documents
from newel.server.openapi import described
from newel_compose import Composition, compose
from newel_kernel import ConfigurationError, hookimpl


class Greeting(BaseModel):
    words: str
    times: int = 1


@endpoint(body=Greeting, answer=Greeting)
async def greet(call: Call) -> object:
    """Greet somebody."""
    return {"words": f"{call.body.words} {call.path['who']}", "times": call.body.times}


async def fail(call: Call) -> object:
    """Fail as the path says."""
    if call.path["how"] == "refused":
        raise Refusal(418, "a teapot")
    raise RuntimeError("secret=hunter2")


class Greetings:
    @hookimpl
    def register_routes(self) -> list[Route]:
        return [
            Route(name="greet", method="POST", path="/greet/{who}", load=lambda: greet),
            Route(name="fail", path="/fail/{how}", aliases=("/dev/fail/{how}",), load=lambda: fail),
            Route(name="rest", path="/files/{name:path}", load=lambda: named),
            Route(name="version_of_file", path="/files/{name:path}/versions/{version}", load=lambda: named),
            Route(name="latest", path="/files/{name:path}/versions/latest", load=lambda: latest),
            Route(name="of", path="/of/{user_id}", load=lambda: caller),
            Route(name="hidden", path="/hidden", development=True, load=lambda: named),
        ]

    @hookimpl
    def register_user_ofs(self) -> list[UserOf]:
        return [UserOf(name="header", user_of=by_header)]


async def named(call: Call) -> object:
    """The parameters."""
    return dict(call.path)


async def latest(call: Call) -> object:
    """The parameters, of the latest."""
    return {**call.path, "latest": True}


async def caller(call: Call) -> object:
    """Who calls."""
    return {**call.path, "user": call.user}


async def by_header(connection: Any) -> str | None:
    user: str | None = connection.headers.get("x-user")
    if user == "stranger":
        raise Refusal(401, "who are you?")
    return user


def composed() -> Composition:
    return compose("standard", plugins=[Greetings()])


def test_routes_of_a_plugin_are_validated_and_described(serve: Serve) -> None:
    client = serve(composition=composed())
    assert client.post("/greet/Ann", json={"words": "hi"}).json() == {"words": "hi Ann", "times": 1}
    refused = client.post("/greet/Ann", json={"times": "many"})
    assert refused.status_code == 422
    assert sorted(tuple(one["loc"]) for one in refused.json()["detail"]) == [("body", "times"), ("body", "words")]
    assert client.post("/greet/Ann", content=b"{", headers={"content-type": "application/json"}).status_code == 422
    document = client.get("/openapi.json").json()
    operation = document["paths"]["/greet/{who}"]["post"]
    assert operation["requestBody"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/Greeting"
    }
    assert document["components"]["schemas"]["Greeting"]["required"] == ["words"]
    assert operation["parameters"] == [
        {"name": "who", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
    ]
    assert "Greet somebody." in client.get("/docs").text


def test_the_description_is_made_once(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    describe = Mock(side_effect=described)
    monkeypatch.setattr(documents, "described", describe)
    client = serve(composition=composed())
    assert client.get("/openapi.json").json() == client.get("/openapi.json").json()
    describe.assert_called_once()


def test_an_unforeseen_error_stays_in_the_log(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    client = serve(composition=composed())
    answer = client.get("/dev/fail/badly")
    assert answer.status_code == 500
    assert "hunter2" not in answer.text
    assert answer.json()["ref"] in caplog.text
    assert "hunter2" in caplog.text
    refused = client.get("/fail/refused")
    assert (refused.status_code, refused.json()) == (418, {"detail": "a teapot"})


def test_parameters_are_found_in_the_path_as_it_was_sent(serve: Serve) -> None:
    client = serve(composition=composed())
    assert client.get("/files/a/b.txt").json() == {"name": "a/b.txt"}
    assert client.get("/files/a/b.txt/versions/3").json() == {"name": "a/b.txt", "version": "3"}
    assert client.get("/files/a/versions/latest").json() == {"name": "a", "latest": True}
    assert client.post("/greet/a%2Fb", json={"words": "hi"}).json()["words"] == "hi a/b"
    assert client.post("/greet/a/b", json={"words": "hi"}).status_code == 404


def test_wrong_paths_and_methods(serve: Serve) -> None:
    client = serve(composition=composed())
    assert client.get("/nothing").json() == {"detail": "Not Found"}
    refused = client.put("/list-apps")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET")
    assert client.head("/health").status_code == 200
    assert client.get("/hidden").status_code == 404


def test_development_routes_are_there_only_if_asked_for(serve: Serve) -> None:
    assert serve(composition=composed(), options=Options(development=True)).get("/hidden").status_code == 200


def test_a_mounted_app_serves_below_any_prefix(serve: Serve) -> None:
    from starlette.applications import Starlette
    from starlette.routing import Mount

    client = serve(composition=composed(), within=lambda one: Starlette(routes=[Mount("/a b/c", one)]))
    assert client.get("/a%20b/c/list-apps").json() == ["clerk"]
    assert client.get("/a%20b/c/files/x%2Fy").json() == {"name": "x/y"}


def test_an_app_needs_agents() -> None:
    with pytest.raises(ConfigurationError, match="agents_dir="):
        app()
    with pytest.raises(ConfigurationError, match="give an agent or an App"):
        app(agents={"it": "text"})
    with pytest.raises(ConfigurationError, match="no folder 'nowhere'"):
        app("nowhere")


def test_a_broken_app_is_listed_and_the_others_go_on(serve: Serve, tmp_path: Path) -> None:
    for name, text in {
        "good": "from newel import Agent\nroot_agent = Agent(name='good', model='echo:')\n",
        "broken": "raise RuntimeError('password=hunter2')\n",
        "leaves": "raise SystemExit(3)\n",
        "rootless": "x = 1\n",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "agent.py").write_text(text)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "notes.txt").write_text("nothing")
    client = serve(tmp_path)
    assert client.get("/list-apps").json() == ["broken", "good", "leaves", "rootless"]
    detailed = client.get("/list-apps?detailed=true")
    assert [one["name"] for one in detailed.json()["apps"]] == ["good"]
    assert [one["name"] for one in detailed.json()["failed"]] == ["broken", "leaves", "rootless"]
    assert "hunter2" not in detailed.text
    local = serve(tmp_path, options=Options(host="127.0.0.1", development=True))
    reasons = {one["name"]: one["error"] for one in local.get("/list-apps?detailed=true").json()["failed"]}
    assert "agent.py:1" in reasons["broken"]
    assert "root_agent" in reasons["rootless"]


def test_the_user_who_calls_may_name_nobody_else(serve: Serve, tmp_path: Path) -> None:
    settings = tmp_path / "mine.yaml"
    settings.write_text("extends: standard\nsettings: {server: {user_of: header}}\n")
    client = serve(composition=compose(str(settings), plugins=[Greetings()]))
    assert client.get("/of/ann", headers={"x-user": "stranger"}).status_code == 401
    assert client.get("/of/ann", headers={"x-user": "bob"}).status_code == 403
    assert client.get("/of/ann", headers={"x-user": "ann"}).json() == {"user_id": "ann", "user": "ann"}
    assert client.get("/of/ann").json() == {"user_id": "ann", "user": None}


@pytest.mark.parametrize("name", ["%20", "a%0Ab", "%00", "..%2Fx", "%2Fetc", "a%2F%2Fb", "x" * 1100])
@pytest.mark.parametrize("rest", ["", "/versions", "/versions/metadata", "/versions/0", "/versions/0/metadata"])
def test_a_name_that_no_store_takes_is_refused(serve: Serve, name: str, rest: str) -> None:
    client = serve()
    client.post("/apps/clerk/users/ann/sessions/s")
    answer = client.get(f"/apps/clerk/users/ann/sessions/s/artifacts/{name}{rest}")
    assert answer.status_code == 422, answer.text
    assert "cannot be used" in answer.json()["detail"]


def test_a_version_of_many_digits_is_refused(serve: Serve) -> None:
    client = serve()
    answer = client.get(f"/apps/clerk/users/ann/sessions/s/artifacts/x/versions/{'9' * 5000}")
    assert answer.status_code == 422


@pytest.mark.parametrize("name", ["x" * 300, "\u0331" * 200, "a%00b", "%20", "..", "a%2Fb"])
def test_no_app_has_a_name_that_no_folder_can_have(serve: Serve, tmp_path: Path, name: str) -> None:
    client = serve(tmp_path)
    assert client.post(f"/apps/{name}/users/u/sessions/s").status_code in (200, 404)
    assert client.get(f"/apps/{name}/app-info").status_code == 404
