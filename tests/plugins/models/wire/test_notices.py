"""Notices are given once for each model and setting."""

from __future__ import annotations

import logging

import pytest

from newel.models.wire.notices import Notice, Notices, listening


def test_a_notice_is_logged_and_heard_once(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Notice] = []
    notices = Notices("parrot")
    with caplog.at_level(logging.WARNING), listening(heard.append):
        for model in ("polly", "polly", "lora"):
            notices.say(model, "seed", "there is no seed; it is not sent")
    assert [str(one) for one in heard] == [
        "parrot (polly): there is no seed; it is not sent",
        "parrot (lora): there is no seed; it is not sent",
    ]
    assert [record.getMessage() for record in caplog.records] == [str(one) for one in heard]
