"""A server that a proxy shows below a path."""

from __future__ import annotations

import pytest
from tests.plugins.server.conftest import Serve

from newel.server import Options
from newel.server.operations.prefix import checked_prefix
from newel_kernel import ConfigurationError


@pytest.mark.parametrize("sent", ["", "/agents"])
def test_the_proxy_takes_it_off_or_leaves_it(serve: Serve, sent: str) -> None:
    client = serve(options=Options(url_prefix="/agents", development=True))
    assert client.get(f"{sent}/list-apps").json() == ["clerk"]
    assert client.post(f"{sent}/apps/clerk/users/u/sessions/a%2Fb", json={}).json()["id"] == "a/b"
    assert client.get(f"{sent}/apps/clerk/users/u/sessions/a%2Fb").json()["id"] == "a/b"
    assert client.get(f"{sent}/").headers["location"] == "/agents/web/"
    assert client.get(f"{sent}/agentsnot").status_code == 404


def test_what_is_no_beginning_of_a_path_is_refused() -> None:
    assert [checked_prefix(one) for one in ("", "/", "/agents", "/a/b/")] == ["", "", "/agents", "/a/b"]
    for wrong in ("agents", "https://x.example/agents", "/a b", "/a?b", "/ä"):
        with pytest.raises(ConfigurationError, match="must be the beginning of a path"):
            checked_prefix(wrong)
