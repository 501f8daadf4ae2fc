"""RunConfig: what is written down of it says the same when it is read."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newel.agents import RunConfig
from newel.agents.run_config import StreamingMode

#: Values of each field besides its default.
_VALUES: dict[str, list[Any]] = {
    "streaming_mode": [StreamingMode.SSE, StreamingMode.BIDI, StreamingMode.NONE],
    "max_llm_calls": [0, -1, 7],
    "custom_metadata": [{}, {"trace": {"id": [1, None]}}],
    "get_session_config": [{"num_recent_events": 3}, {"after_timestamp": 1.5}],
    "save_input_blobs_as_artifacts": [True, False],
    "support_cfc": [False],
    "tool_thread_pool_config": [None],
    "response_modalities": [["TEXT"], ["AUDIO"], []],
    "speech_config": [{"language_code": "de-DE"}, None],
    "output_audio_transcription": [None, {}, {"language_codes": ["de-DE"]}],
    "input_audio_transcription": [None, {}, {"language_codes": ["de-DE"]}],
    "realtime_input_config": [{"automatic_activity_detection": {"disabled": True}}, {}],
    "enable_affective_dialog": [True, False],
    "proactivity": [{"proactive_audio": True}],
    "session_resumption": [{"handle": "h", "transparent": True}, {}],
    "context_window_compression": [{"trigger_tokens": 10, "sliding_window": {"target_tokens": 5}}],
    "avatar_config": [{"avatar_name": "Kira"}],
    "history_config": [{"initial_history_in_client_content": True}],
    "explicit_vad_signal": [True, False],
    "translation_config": [{"target_language_code": "de"}],
    "save_live_blob": [True, False],
    "save_live_audio": [True, False],
    "budgets": [[{"per": "run", "calls": 3}], [], None],
}
_CONFIGS = st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in _VALUES.items()})

Written = Callable[[RunConfig], dict[str, Any]]


def effect(config: RunConfig) -> dict[str, Any]:
    """What a run reads of a configuration."""
    return {name: getattr(config, name) for name in RunConfig.model_fields}


def test_each_field_has_values() -> None:
    assert sorted(_VALUES) == sorted(RunConfig.model_fields)


@pytest.mark.parametrize(
    "written",
    [
        RunConfig.model_dump,
        lambda config: config.model_dump(mode="json"),
        lambda config: json.loads(config.model_dump_json(by_alias=True)),
        lambda config: config.model_dump(exclude_unset=True),
        lambda config: config.model_dump(exclude_defaults=True),
    ],
    ids=["python", "json", "text", "only what is set", "only what is no default"],
)
@given(fields=_CONFIGS)
def test_a_configuration_that_was_written_has_the_same_effect(written: Written, fields: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        config = RunConfig(**fields)
    again = RunConfig(**written(config))
    assert effect(again) == effect(config)
    assert effect(again.model_copy()) == effect(config)


def test_what_is_assigned_is_written() -> None:
    config = RunConfig()
    config.input_audio_transcription = None
    again = RunConfig(**config.model_dump())
    assert again.input_audio_transcription is None
    assert again.output_audio_transcription is not None
