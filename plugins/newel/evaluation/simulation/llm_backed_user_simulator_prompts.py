"""The prompt of a model that plays a user, and templates of the user's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module

from newel.evaluation.simulation.user_simulator_personas import UserPersona
from newel_kernel import ConfigurationError

#: The placeholders that a template must have.
PLACEHOLDERS = ("stop_signal", "conversation_plan", "conversation_history")
_DEFAULT = """You play the user of an agent. You are not the agent, and you never do its work.

Write the user's next message, only its text. Follow the plan and add nothing to it. Answer the agent's
questions from the plan. When the plan is complete or cannot be completed, write {{ stop_signal }} and nothing else.
{{ persona }}
The plan:
{{ conversation_plan }}

The conversation so far:
{{ conversation_history }}

The user's next message:
"""
_JINJA = re.compile(r"\{\{\s*([\w.]+)\s*\}\}")
_BRACES = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")


def is_valid_user_simulator_template(template: str, required: tuple[str, ...]) -> bool:
    """Whether a template has every placeholder, as ``{{ x }}`` or, throughout, as ``{x}``."""
    return _syntax(template, required) is not None


def _syntax(template: str, required: tuple[str, ...]) -> re.Pattern[str] | None:
    for syntax in (_JINJA, _BRACES):
        names = {name.partition(".")[0] for name in syntax.findall(template)}
        if syntax is _JINJA and "{%" in template:
            names |= set(re.findall(r"\b\w+\b", " ".join(re.findall(r"\{[{%](.*?)[%}]\}", template, re.DOTALL))))
        if set(required) <= names:
            return syntax
    return None


def get_llm_backed_user_simulator_prompt(
    conversation_plan: str,
    conversation_history: str,
    stop_signal: str,
    custom_instructions: str | None = None,
    user_persona: UserPersona | None = None,
) -> str:
    """The prompt for the next message."""
    template = custom_instructions or _DEFAULT
    values = {
        "stop_signal": stop_signal,
        "conversation_plan": conversation_plan,
        "conversation_history": conversation_history,
        "persona": persona_text(user_persona),
    }
    if "{%" in template:
        return _jinja(template, values)
    syntax = _syntax(template, PLACEHOLDERS) or _JINJA
    return syntax.sub(lambda match: values.get(match.group(1), match.group(0)), template)


def _jinja(template: str, values: Mapping[str, str]) -> str:
    """Fill a template that has statements: with Jinja itself, in its sandbox."""
    try:
        sandbox = import_module("jinja2.sandbox")
    except ImportError:
        raise ConfigurationError(
            "custom_instructions has Jinja statements; install jinja2 for them, or use placeholders only"
        ) from None
    return str(sandbox.SandboxedEnvironment(autoescape=False).from_string(template).render(**values))


def persona_text(persona: UserPersona | None) -> str:
    """Who the user is, and how such a user behaves."""
    if persona is None:
        return ""
    lines = [f"\nThe user is like this: {persona.description}", "The user behaves like this:"]
    for behavior in persona.behaviors:
        lines.append(f"- {behavior.name}: {behavior.description}")
        lines.append(behavior.get_behavior_instructions_str())
    return "\n".join(line for line in lines if line) + "\n"
