"""Wrong inputs, each with its first line: what, where, and what to do; never a traceback, never silence."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

PRELUDE = """
# The agents of these cases.
from newel import Agent
from newel.agents import BaseAgent
from newel.testing import ScriptedModel
from newel.tools import BaseToolset
from newel.types import FunctionCall, Part

model = ScriptedModel(["hi"])
calling = ScriptedModel([Part(function_call=FunctionCall(name="f")), "done"])
"""
KINDS = """
from newel.cli.kinds import Command
from newel.models.kinds import ModelProvider
from newel.sessions.kinds import SessionBackend
from newel.tools.kinds import ToolAdapter, ToolFactory
from newel_kernel import *
"""
RUN = ("run", "app", "hi")
YAML = ("run", "a.yaml", "hi")


@dataclass(frozen=True)
class Case:
    """What is in the folder, the command, and what it says."""

    says: str
    command: tuple[str, ...] = RUN
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    #: The module of an installed plugin `odd`, which the distribution names.
    plugin: str = ""
    status: int = 2


def code(body: str, says: str, status: int = 1) -> Case:
    """An agent in `app/agent.py`, after PRELUDE (of 10 lines)."""
    return Case(says, RUN, {"app/__init__.py": "", "app/agent.py": PRELUDE + body}, status=status)


def mine(text: str, says: str, command: tuple[str, ...] = YAML, agent: str = "name: a\n") -> Case:
    """A distribution in newel.yaml."""
    return Case(says, command, {"newel.yaml": text, "a.yaml": agent})


def agent(text: str, says: str, **more: str) -> Case:
    """An agent in YAML, with more files beside it."""
    return Case(says, RUN, {"app/root_agent.yaml": text, **{f"app/{name}.py": body for name, body in more.items()}})


def plugin(body: str, says: str, command: tuple[str, ...] = YAML, status: int = 1, agent: str = "name: a\n") -> Case:
    """An installed plugin, after KINDS (of 6 lines)."""
    files = {"newel.yaml": "name: x\nextends: standard\nplugins: [odd]\n", "a.yaml": agent}
    return Case(says, command, files, KINDS + body, status)


def processor(run: str, kind: str = "request", after: str = "contents", **more: str) -> str:
    hook = {"request": "RequestProcessor", "response": "ResponseProcessor"}[kind]
    keywords = "".join(f", {key}={value}" for key, value in more.items())
    return (
        f"{run}\n@hookimpl\ndef register_{kind}_processors():\n"
        f"    return [{hook}(name='odd', run=run, after=('{after}',){keywords})]\n"
    )


def registers(hook: str, item: str, before: str = "") -> str:
    return f"{before}\n@hookimpl\ndef register_{hook}():\n    return [{item}]\n"


ODD = "of the plugin 'odd' (newel-odd 1.0)"
CASES: dict[str, Case] = {
    # --- code of the user -----------------------------------------------------------------------------------------
    "a tool that raises": code(
        "def f():\n    raise ValueError('boom')\nroot_agent = Agent(name='a', model=calling, tools=[f])",
        "newel: the tool 'f' of the agent 'a' failed, and the model gets this error: ValueError: boom "
        "(agent.py:12 in f)",
        0,
    ),
    "a tool that returns an object": code(
        "class Thing: ...\ndef f():\n    return Thing()\nroot_agent = Agent(name='a', model=calling, tools=[f])",
        "newel: the tool 'f' returned Thing, which JSON has no form for: the model gets its text; return a dict",
        0,
    ),
    "a tool that returns itself": code(
        "def f():\n    a = []\n    a.append(a)\n    return a\nroot_agent = Agent(name='a', model=calling, tools=[f])",
        "newel: the result of the tool 'f' cannot be used: it is nested deeper than 64 levels, or holds itself",
        0,
    ),
    "a callback that raises": code(
        "def cb(callback_context):\n    raise ValueError('boom')\n"
        "root_agent = Agent(name='a', model=model, before_agent_callback=cb)",
        "Error: the run failed: ValueError: boom (agent.py:12 in cb)",
    ),
    "a tool callback that raises": code(
        "def f(): ...\ndef cb(tool, args, tool_context):\n    raise ValueError('boom')\n"
        "root_agent = Agent(name='a', model=calling, tools=[f], before_tool_callback=cb)",
        "Error: the run failed: ValueError: boom (agent.py:13 in cb)",
    ),
    "a callback of another type": code(
        "def cb(callback_context):\n    return 3\nroot_agent = Agent(name='a', model=model, before_agent_callback=cb)",
        "Error: the run failed: agent 'a', callback cb (agent.py:11): before_agent_callback returned int; it must",
    ),
    "an instruction that raises": code(
        "def say(ctx):\n    return ctx.stat\nroot_agent = Agent(name='a', model=model, instruction=say)",
        "Error: the run failed: AttributeError: 'ReadonlyContext' object has no attribute 'stat' (agent.py:12 in say)",
    ),
    "an instruction of another type": code(
        "def say(ctx):\n    return 3\nroot_agent = Agent(name='a', model=model, instruction=say)",
        "Error: the run failed: agent 'a', instruction say (agent.py:11): it returned int; it must return a string",
    ),
    "a toolset that raises": code(
        "class T(BaseToolset):\n    async def get_tools(self, readonly_context=None):\n        raise OSError('away')\n"
        "root_agent = Agent(name='a', model=model, tools=[T()])",
        "Error: the run failed: OSError: away (agent.py:13 in get_tools)",
    ),
    "a toolset without a list": code(
        "class T(BaseToolset):\n    async def get_tools(self, readonly_context=None): ...\n"
        "root_agent = Agent(name='a', model=model, tools=[T()])",
        ".agent.T: get_tools must return a list of tools, not None",
    ),
    "a toolset of texts": code(
        "class T(BaseToolset):\n    async def get_tools(self, readonly_context=None):\n        return ['x']\n"
        "root_agent = Agent(name='a', model=model, tools=[T()])",
        ".agent.T: get_tools must return a list of tools, not ['x']",
    ),
    "a tool that is a number": code(
        "root_agent = Agent(name='a', model=model, tools=[3])",
        "Error: agent 'a': 3 is not a tool: no adapter accepts it (adapters: declarations, functions, langchain)",
        2,
    ),
    "a model that raises": code(
        "class M(ScriptedModel):\n    async def generate_content_async(self, r, stream=False):\n"
        "        raise ValueError('boom')\n        yield\nroot_agent = Agent(name='a', model=M(['x']))",
        "Error: the run failed: ValueError: boom (agent.py:13 in generate_content_async)",
    ),
    "a model that yields text": code(
        "class M(ScriptedModel):\n    async def generate_content_async(self, r, stream=False):\n        yield 'x'\n"
        "root_agent = Agent(name='a', model=M(['x']))",
        "Error: the run failed: the model M: generate_content_async yielded str; it must yield LlmResponse",
    ),
    "a model that returns": code(
        "class M(ScriptedModel):\n    async def generate_content_async(self, r, stream=False):\n        return 'x'\n"
        "root_agent = Agent(name='a', model=M(['x']))",
        "Error: the run failed: the model M: generate_content_async returned coroutine; it must be an async generator",
    ),
    "an agent that raises": code(
        "class A(BaseAgent):\n    async def _run_async_impl(self, ctx):\n        raise KeyError('k')\n        yield\n"
        "root_agent = A(name='a')",
        "Error: the run failed: KeyError: 'k' (agent.py:13 in _run_async_impl)",
    ),
    "an agent that yields text": code(
        "class A(BaseAgent):\n    async def _run_async_impl(self, ctx):\n        yield 'x'\nroot_agent = A(name='a')",
        "Error: the run failed: agent 'a': A._run_async_impl yielded str; it must yield events",
    ),
    "an agent that returns": code(
        "class A(BaseAgent):\n    async def _run_async_impl(self, ctx):\n        return 'x'\nroot_agent = A(name='a')",
        "A._run_async_impl is not an async generator: it must yield its events (agent.py:11)",
        2,
    ),
    "an agent that does nothing": code(
        "class A(BaseAgent): ...\nroot_agent = A(name='a')",
        "Error: the run failed: NotImplementedError: A does not implement _run_async_impl",
    ),
    "a syntax error": code("def broken(:\n", "cannot be imported: SyntaxError: invalid syntax (agent.py:11)", 2),
    "an import that fails": code(
        "import nosuchmodule\n", "ModuleNotFoundError: No module named 'nosuchmodule' (agent.py:11)", 2
    ),
    "a module that raises": code("1 / 0\n", "cannot be imported: ZeroDivisionError: division by zero (agent.py:11)", 2),
    "a module that exits": code("raise SystemExit(3)\n", "cannot be imported: SystemExit: 3 (agent.py:11)", 2),
    "a misspelt root_agent": code(
        "root_agnt = Agent(name='a')\n",
        "Error: app: agent has no `root_agent`; did you mean 'root_agnt'? (its agents: root_agnt); rename one",
        2,
    ),
    "a root_agent of another type": code("root_agent = 'x'\n", "`root_agent` is of type str, neither an agent nor", 2),
    "a misspelt field": code(
        "root_agent = Agent(name='a', instructon='x')\n",
        "LlmAgent 'a': there is no field 'instructon'; did you mean 'instruction'? (agent.py:11)",
        2,
    ),
    "a name with a space": code(
        "root_agent = Agent(name='my agent')\n",
        "LlmAgent 'my agent': name: invalid agent name 'my agent': use letters",
        2,
    ),
    # --- agents in YAML -------------------------------------------------------------------------------------------
    "an unknown key": agent("name: a\ninstructon: x\n", "root_agent.yaml:2: unknown key 'instructon' in LlmAgent; did"),
    "no name": agent("instruction: x\n", "root_agent.yaml:1: name is missing; add a line `name: ...`"),
    "an unknown class": agent("name: a\nagent_class: LmAgent\n", "the agent type 'LmAgent'; did you mean 'LlmAgent'?"),
    "an unknown tool": agent("name: a\ntools: [exit_lop]\n", "root_agent.yaml:2: no plugin provides the tool factory"),
    "an unknown function": agent(
        "name: a\ntools: [tools.ff]\n", "'tools.ff' does not exist; did you mean 'f'?", tools="def f(): ...\n"
    ),
    "an unknown module": agent(
        "name: a\ntools: [tool.f]\n", "root_agent.yaml:2: 'tool.f' is not allowed here", tools="def f(): ...\n"
    ),
    "tools as a text": agent("name: a\ntools: exit_loop\n", "root_agent.yaml:2: tools: expected a list, not str"),
    "a module of tools that fails": agent(
        "name: a\ntools: [tools.f]\n", "No module named 'nosuch' (tools.py:1)", tools="import nosuch\ndef f(): ...\n"
    ),
    "a factory that raises": agent(
        "name: a\ntools: [{name: tools.make, args: {n: 3}}]\n",
        "root_agent.yaml:2: 'tools.make' cannot be made of these args: ValueError: boom (tools.py:2 in make)",
        tools="def make(n):\n    raise ValueError('boom')\n",
    ),
    "an unknown file": agent("name: a\nsub_agents: [b.yaml]\n", "root_agent.yaml:2: config_path 'b.yaml': there is no"),
    "a tab": agent("name: a\n\ttools: []\n", "root_agent.yaml:2: found character '\\t' that cannot start any token;"),
    "an unset variable": agent("name: ${NEWEL_NOPE}\n", "the environment variable 'NEWEL_NOPE' is not set; set it"),
    "a tool option": agent(
        "name: a\ntools: [{tool: exit_loop, timout: 3}]\n", "unknown key 'timout' in tools.0; did you mean 'timeout'?"
    ),
    "an effect": agent(
        "name: a\ntools: [{tool: tools.f, effect: pur}]\n",
        "there is no effect 'pur'; did you mean",
        tools="def f(): ...\n",
    ),
    # --- distributions --------------------------------------------------------------------------------------------
    "an unknown service": mine(
        "name: x\nextends: standard\nservices: {sessions: 'memory:'}\n",
        "`services` has no 'sessions'; did you mean 'session'? "
        "(there are: artifact, bus, credential, engine, limits, memory, session)",
    ),
    "a service of a plugin that is not there": mine(
        "name: x\nextends: minimal\nservices: {artifact: 'memory:'}\n", "`services` has no 'artifact' (there are:"
    ),
    "an unknown scheme": mine(
        "name: x\nextends: standard\nservices: {session: 'sqlit:///x.db'}\n",
        "no plugin provides a session store for 'sqlit:///x.db'; did you mean 'sqlite'?",
    ),
    "services as a list": mine(
        "name: x\nextends: standard\nservices: [a]\n", "newel.yaml:3: services: expected a mapping"
    ),
    "plugins as a text": mine(
        "name: x\nextends: standard\nplugins: redact\n",
        "newel.yaml:3: plugins: expected a list, not a string; write [redact]",
    ),
    "disable as a text": mine("name: x\nextends: standard\ndisable: planning\n", "a string; write [planning]"),
    "an unknown plugin to disable": mine("name: x\nextends: standard\ndisable: [planing]\n", "did you mean 'planning'"),
    "settings as a number": mine(
        "name: x\nextends: standard\nsettings: {function_tools: 3}\n", "settings.function_tools: expected a mapping"
    ),
    "settings of nothing": mine(
        "name: x\nextends: standard\nsettings:\n", "settings: expected a mapping, not nothing; remove the line"
    ),
    "an unknown setting": mine(
        "name: x\nextends: standard\nsettings: {function_tools: {validate: true}}\n",
        "validate: Extra inputs are not permitted; did you mean 'validate_arguments'?",
    ),
    "an unknown setting of few": mine(
        "name: x\nextends: standard\nsettings: {tool_timeout: {zzz: 1}}\n", "not permitted (there are: seconds, tools)"
    ),
    "an empty distribution": mine("", "newel.yaml:1: a distribution is a mapping, not NoneType"),
    "extends as a list": mine("name: x\nextends: [adk]\n", "newel.yaml:2: extends: expected a string, not a list"),
    "a distribution of nothing": mine(
        "name: x\n",
        "unknown command 'run' (there are: plugins); the distribution 'x' has no commands, because the "
        "plugin 'commands' is not enabled: write `extends: standard`",
    ),
    "commands disabled": mine(
        "name: x\nextends: standard\ndisable: [commands]\n", "'commands' is not enabled: take it out of `disable`"
    ),
    "models disabled": mine("name: x\nextends: standard\ndisable: [models]\n", "distribution 'x' disables models"),
    "strict as a text": mine("name: x\nextends: standard\nstrict: maybe\n", "newel.yaml:3: strict: Input should be a"),
    "a distribution in a folder": Case("newel.yaml is not a file", YAML, {"newel.yaml/x": "", "a.yaml": "name: a\n"}),
    "a lock that is no JSON": Case("newel.lock is not a lock file (Invalid", YAML, {"newel.lock": "{", "a.yaml": ""}),
    "a lock that is a list": Case("newel.lock is not a lock file (Input", YAML, {"newel.lock": "[]", "a.yaml": ""}),
    "a lock with texts": Case(
        "newel.lock is not a lock file (plugins.basic: Input should be",
        YAML,
        {"newel.lock": '{"distribution": "x", "plugins": {"basic": "1"}}', "a.yaml": ""},
    ),
    "a lock of bytes": Case("newel.lock is not a lock file", YAML, {"newel.lock": b"\xff\xfe", "a.yaml": ""}),
    "a lock that is a folder": Case("newel.lock cannot be read: Is a dir", YAML, {"newel.lock/x": "", "a.yaml": ""}),
    "a lock where a folder is": Case("newel.lock cannot be written: Is a directory", ("lock",), {"newel.lock/x": ""}),
    # --- commands -------------------------------------------------------------------------------------------------
    "a store without a scheme": Case(
        "write it as a URI, such as sqlite:///sessions.db",
        (*YAML, "--sessions", "x.db"),
        {"a.yaml": "name: a\n"},
    ),
    "an unknown model": Case(
        "unknown model 'gemni:x'; did you mean 'gemini:'?", (*YAML, "--model", "gemni:x"), {"a.yaml": "name: a\n"}
    ),
    "an unknown option": Case(
        "No such option '--modle'. Did you mean '--model'?", (*YAML, "--modle", "demo:"), {"a.yaml": "name: a\n"}
    ),
    "no message": Case("Missing argument 'MESSAGE'.", ("run", "a.yaml"), {"a.yaml": "name: a\n"}),
    "an empty message": Case(
        "the message is empty; write it after the agent", ("run", "a.yaml", " "), {"a.yaml": "name: a\n"}
    ),
    "an unknown agent": Case("there is no agent 'agent'; did you mean 'agnt'?", ("run", "agent", "x"), {"agnt/x": ""}),
    "an unknown distribution": Case(
        "unknown distribution 'standrd'; did you mean 'standard'?",
        (*YAML, "--distribution", "standrd"),
        {"a.yaml": "name: a\n"},
    ),
    "an unknown command": Case("unknown command 'rum'; did you mean 'run'?", ("rum",)),
    "an unknown plugin": Case("no plugin 'contens' is installed; did you mean 'conten", ("plugins", "why", "contens")),
    # --- installed plugins ----------------------------------------------------------------------------------------
    "a processor that raises": plugin(
        processor("async def run(ctx, request):\n    raise ValueError('boom')"),
        f"the run failed: ValueError: boom (odd_module.py:8 in run); raised in the request processor 'odd' {ODD}",
    ),
    "a processor that returns text": plugin(
        processor("async def run(ctx, request):\n    return 'x'"),
        f"the run failed: the request processor 'odd' {ODD}: run (odd_module.py:7) returned str; it must return a list "
        "of events or None",
    ),
    "a processor that returns texts": plugin(
        processor("async def run(ctx, request):\n    return ['x']"),
        "run (odd_module.py:7) returned a list of str; it must return a",
    ),
    "a plain processor that returns a list": plugin(
        processor("def run(ctx, request):\n    return []"),
        "run (odd_module.py:7) returned list; a plain function must return None",
    ),
    "a processor that is a text": plugin(
        processor("run = 'x'"),
        "the plugin 'odd': register_request_processors returned 'odd' with run='x', which cannot be called",
        status=2,
    ),
    "a processor of other arguments": plugin(
        processor("async def run(request): ..."), "with run=run(request), which must take (ctx, request)", status=2
    ),
    "an anchor as a text": plugin(
        registers(
            "request_processors",
            "RequestProcessor(name='odd', run=run, after='contents')",
            "async def run(ctx, request): ...",
        ),
        "returned 'odd' with after='contents'; write after=('contents',)",
        status=2,
    ),
    "a question about an agent that raises": plugin(
        processor("async def run(ctx, request): ...", applies_to="lambda agent: agent.nope"),
        f"has no attribute 'nope' (odd_module.py:10 in <lambda>); raised in the request processor 'odd' {ODD}",
    ),
    "a response processor that raises": plugin(
        processor("async def run(ctx, request, response):\n    raise ValueError('boom')", "response", "planning"),
        f"ValueError: boom (odd_module.py:8 in run); raised in the response processor 'odd' {ODD}",
    ),
    "a response processor that returns the response": plugin(
        processor("async def run(ctx, request, response):\n    return response", "response", "planning"),
        f"the response processor 'odd' {ODD}: run (odd_module.py:7) returned LlmResponse; it must return a list",
    ),
    "a policy of nothing": plugin(
        registers("tool_policies", "ToolPolicy(name='odd', wrap=lambda call: None, after=('tool_results',))"),
        f"the tool policy 'odd' {ODD}: register_tool_policies.<locals>.<lambda> (odd_module.py:10) returned NoneType; "
        "it must return a function",
        status=2,
    ),
    "a policy that raises": plugin(
        registers(
            "tool_policies",
            "ToolPolicy(name='odd', wrap=wrap, after=('tool_results',))",
            "def wrap(call):\n    raise ValueError('boom')",
        ),
        f"ValueError: boom (odd_module.py:8 in wrap); raised in the tool policy 'odd' {ODD}",
        status=2,
    ),
    "a hook that raises": plugin(
        "@hookimpl\ndef before_run_callback(invocation_context):\n    raise ValueError('boom')",
        "Error: the run failed: plugin 'odd' (newel-odd 1.0) failed in before_run_callback: ValueError: boom "
        "(odd_module.py:9 in before_run_callback)",
    ),
    "a hook of another type": plugin(
        "@hookimpl\ndef before_run_callback(invocation_context):\n    return 'x'",
        "plugin 'odd' (newel-odd 1.0): before_run_callback returned str; it must return Content or None",
    ),
    "a hook that is not marked": plugin(
        "def before_run_callback(invocation_context): ...",
        "the plugin 'odd' has hooks without @hookimpl of newel_kernel, which are never called: before_run_c",
        status=2,
    ),
    "a prologue that raises": plugin(
        registers("prologues", "Prologue(name='odd', run=run)", "async def run(ctx):\n    raise ValueError('boom')"),
        f"ValueError: boom (odd_module.py:8 in run); raised in the prologue 'odd' {ODD}",
    ),
    "a prologue that returns text": plugin(
        registers("prologues", "Prologue(name='odd', run=run)", "async def run(ctx):\n    return 'x'"),
        f"the prologue 'odd' {ODD}: run (odd_module.py:7) returned str; it must return a list of events or None",
    ),
    "a provider that raises": plugin(
        registers(
            "model_providers",
            "ModelProvider(name='odd', create=create)",
            "def create(address):\n    raise ValueError('boom')",
        ),
        "the plugin 'odd' (newel-odd 1.0) cannot make the model 'odd:x': ValueError: boom (odd_module.py:8 in create)",
        (*YAML, "--model", "odd:x"),
        2,
    ),
    "a provider of nothing": plugin(
        registers("model_providers", "ModelProvider(name='odd', create=lambda address: None)"),
        "the plugin 'odd' (newel-odd 1.0) made NoneType of the address 'odd:x'; `create` must return a BaseLlm",
        (*YAML, "--model", "odd:x"),
        2,
    ),
    "a store that raises": plugin(
        registers(
            "session_backends", "SessionBackend(name='odd', open=open)", "def open(uri):\n    raise ValueError('boom')"
        ),
        f"ValueError: boom (odd_module.py:8 in open); raised in the session backend 'odd' {ODD}",
        (*YAML, "--sessions", "odd:x"),
    ),
    "a store of nothing": plugin(
        registers("session_backends", "SessionBackend(name='odd', open=lambda uri: None)"),
        f"the session backend 'odd' {ODD}: open('odd:x') returned None; it must return a store",
        (*YAML, "--sessions", "odd:x"),
        2,
    ),
    "a command that does not load": plugin(
        registers("commands", "Command(name='odd', load=lambda: 1 / 0)"),
        "the command 'odd' cannot be loaded: ZeroDivisionError: division by zero (odd_module.py:10 in <lambda>)",
        ("odd",),
        2,
    ),
    "a command that fails": plugin(
        registers(
            "commands", "Command(name='odd', load=lambda: odd)", "import click\n@click.command()\ndef odd():\n    1 / 0"
        ),
        "the command 'odd' failed: ZeroDivisionError: division by zero (odd_module.py:10 in odd); --debug shows",
        ("odd",),
    ),
    "a factory of no tool": plugin(
        registers("tool_factories", "ToolFactory(name='odd', create=lambda: None)"),
        "a.yaml:2: NoneType is not a tool; name a function, a tool or a toolset",
        status=2,
        agent="name: a\ntools: [odd]\n",
    ),
    "an adapter of no tool": plugin(
        registers("tool_adapters", "ToolAdapter(name='odd', accepts=callable, adapt=lambda entry: 'x')"),
        "a tool adapter returned str for <function f",
        command=("run", "m:root_agent", "hi"),
        status=1,
    ),
    "an observer that raises": plugin(
        registers(
            "observers", "Observer(name='odd', notify=notify)", "def notify(signal):\n    raise ValueError('boom')"
        ),
        f"newel: the observer 'odd' {ODD} failed: ValueError: boom (odd_module.py:8 in notify)",
        status=0,
    ),
    "an observer that is told nothing": plugin(
        registers("observers", "Observer(name='odd', notify=lambda: None)"),
        "the plugin 'odd': register_observers returned 'odd' with notify=",
        status=2,
    ),
    "an observer that does not know whether it wants to watch": plugin(
        registers(
            "observers",
            "Observer(name='odd', notify=print, enabled=enabled)",
            "def enabled():\n    raise ValueError('boom')",
        ),
        f"ValueError: boom (odd_module.py:8 in enabled); raised in the observer 'odd' {ODD}",
    ),
    "a hook policy that gives nothing": plugin(
        "def before_run_callback(invocation_context): ...\nbefore_run_callback = hookimpl(before_run_callback)\n"
        "from newel_compose import HookPolicy\n"
        + registers("hook_policies", "HookPolicy(name='odd', wrap=lambda bound: None)"),
        f"the hook policy 'odd' {ODD}: register_hook_policies.<locals>.<lambda> (odd_module.py:13) returned NoneType; "
        "it must return a Bound",
        status=2,
    ),
    "a hook policy that raises": plugin(
        "@hookimpl\ndef before_run_callback(invocation_context): ...\nfrom newel_compose import HookPolicy\n"
        + registers(
            "hook_policies", "HookPolicy(name='odd', wrap=wrap)", "def wrap(bound):\n    raise ValueError('boom')"
        ),
        f"ValueError: boom (odd_module.py:11 in wrap); raised in the hook policy 'odd' {ODD}",
        status=2,
    ),
}
CASES["an adapter of no tool"] = Case(
    **{
        **CASES["an adapter of no tool"].__dict__,
        "files": {
            **CASES["an adapter of no tool"].files,
            "m.py": PRELUDE + "def f(): ...\nroot_agent = Agent(name='a', model=model, tools=[f])\n",
        },
    },
)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Each case imports its own modules, and is told everything."""
    before = set(sys.modules)
    monkeypatch.setattr("newel.policies.tool_results._warned_tools", set())
    yield
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("app", "odd_module", "m") or name.startswith("app_"):
            del sys.modules[name]


def prepare(project: Any, case: Case) -> None:
    for name, content in case.files.items():
        file = project.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    if case.plugin:
        project.install("newel-odd", {"odd": "odd_module"}, {"odd_module": case.plugin})


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_first_line(project: Any, case: Case, caplog: pytest.LogCaptureFixture) -> None:
    prepare(project, case)
    result = project.newel(*case.command)
    lines = [*(record.getMessage() for record in caplog.records), *result.stderr.splitlines()]
    lines = [line for line in lines if not line.startswith("note: ")]
    assert lines, "it says nothing"
    # Where the agent is from is told, unless another loaded module, such as that of a test, has one of its name.
    assert case.says in lines[0] or case.says in re.sub(r"(agent 'a') \(agent\.py:\d+\)", r"\1", lines[0])
    assert "Traceback" not in result.stderr
    assert result.exit_code == case.status


def test_there_are_enough() -> None:
    assert len(CASES) >= 99


@pytest.mark.parametrize("how", ["option", "variable"])
def test_a_traceback_is_shown_when_it_is_wanted(project: Any, how: str) -> None:
    prepare(project, CASES["a callback that raises"])
    environment = {**os.environ, **({"NEWEL_DEBUG": "1"} if how == "variable" else {})}
    more = ["--debug"] if how == "option" else []
    command = [sys.executable, "-m", "newel.cli.main", *RUN, *more]
    done = subprocess.run(command, cwd=project.path, env=environment, capture_output=True, text=True, timeout=60)
    assert "Traceback (most recent call last)" in done.stderr
    assert "ValueError: boom" in done.stderr
    assert done.stderr.splitlines()[-1] == (
        "Error: the run failed: ValueError: boom (agent.py:12 in cb); raised in the callback before_agent_callback "
        "(agent 'a', callback cb (agent.py:11)) of the agent 'a'"
    )


def test_a_command_line_that_debugs_shows_where_a_refusal_is_from(project: Any) -> None:
    done = project.process("run", "nowhere", "hi", "--debug")
    assert "Traceback" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("Error: there is no agent 'nowhere'")


def test_help_where_there_are_no_commands(project: Any) -> None:
    project.write("newel.yaml", "name: x\n")
    result = project.newel("--help")
    assert result.exit_code == 0
    assert "the distribution 'x' has no commands" in re.sub(r"\s+", " ", result.stdout)


def test_what_a_tool_prints_is_no_line_of_json(project: Any) -> None:
    case = code("def f():\n    print('chatter')\nroot_agent = Agent(name='a', model=calling, tools=[f])", "")
    prepare(project, case)
    result = project.newel(*RUN, "--json")
    assert all(line.startswith("{") for line in result.stdout.splitlines())
    assert "chatter" in result.stderr


def test_a_pipe_that_is_closed_ends_in_silence(project: Any) -> None:
    prepare(project, CASES["a tool that raises"])
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "newel.cli.main", *RUN, "--json"]
    done = subprocess.run(
        command, cwd=project.path, env=os.environ, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60
    )
    os.close(writing)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_control_c_leaves_without_a_traceback_although_a_tool_never_returns(project: Any) -> None:
    case = code(
        "import time\ndef f():\n    open('begun', 'w').close()\n    time.sleep(3600)\n"
        "root_agent = Agent(name='a', model=calling, tools=[f])",
        "",
    )
    prepare(project, case)
    process = subprocess.Popen(
        [sys.executable, "-m", "newel.cli.main", *RUN], cwd=project.path, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not (project.path / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert "Traceback" not in stderr
    assert "Aborted!" in stderr


def test_processes_that_start_one_new_session_end_without_a_traceback(project: Any) -> None:
    project.write("a.yaml", "name: a\n")
    command = [sys.executable, "-m", "newel.cli.main", *YAML, "--session", "s"]
    processes = [
        subprocess.Popen(command, cwd=project.path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        for _ in range(3)
    ]
    errors = [process.communicate(timeout=60)[1] for process in processes]
    refused = [error for process, error in zip(processes, errors, strict=True) if process.returncode]
    assert len(refused) < len(processes)
    assert all("the session 's' has a run already, in another process" in error for error in refused), refused
    assert not any("Traceback" in error for error in errors), errors
