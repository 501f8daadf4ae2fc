"""Broken and hostile packages: what each does, and what becomes of it.

A case is a package `odd` 1.0 with a plugin `odd` in the module `fake_odd`, unless it installs something else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any
from zipfile import ZipFile

from newel.testing.packages import FakePackages

HOOK = "from newel_kernel import *\nfrom newel_compose import *\nimport asyncio, os, sys, time\n"


@dataclass(frozen=True)
class Case:
    """One package, and what is expected."""

    name: str
    #: The source of `fake_odd`, or what installs something else.
    package: str | Callable[[FakePackages], object]
    #: What stderr of composing, or `newel plugins why odd`, says; a regular expression. Empty: nothing at all.
    told: str = ""
    #: What `newel run` does: it answers, or fails and says (a regular expression).
    run: str = "answers"
    target: str = "fake_odd"
    #: The distribution's further lines.
    house: str = ""
    #: Whether it may write to stderr itself.
    is_free: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    def install(self, packages: FakePackages) -> None:
        """Install it."""
        if callable(self.package):
            self.package(packages)
        else:
            packages.install("odd", plugins={"odd": self.target}, fake_odd=dedent(self.package), **self.options)


LEFT_OUT = r"plugin 'odd' \(odd 1\.0\) is left out: "
RAISERS = {
    "RuntimeError": "raise RuntimeError('no GPU')",
    "SystemExit": "raise SystemExit(0)",
    "SystemExit 3": "import sys; sys.exit('stopped')",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "GeneratorExit": "raise GeneratorExit",
    "CancelledError": "import asyncio; raise asyncio.CancelledError('mine')",
    "BaseExceptionGroup": "raise BaseExceptionGroup('many', [SystemExit(1), KeyboardInterrupt()])",
    "ExceptionGroup": "raise ExceptionGroup('many', [ValueError('a'), ValueError('b')])",
    "StopIteration": "raise StopIteration",
    "StopAsyncIteration": "raise StopAsyncIteration",
    "MemoryError": "raise MemoryError",
    "RecursionError": "f = lambda: f()\nf()",
    "own BaseException": "raise type('E', (BaseException,), {})('x')",
    "str raises": "class E(Exception):\n    def __str__(self): raise SystemExit\nraise E",
    "str is no text": "class E(Exception):\n    def __str__(self): return 7\nraise E",
    "repr raises": "class E(Exception):\n    def __repr__(self): raise KeyboardInterrupt\nraise E(1)",
    "escapes": "raise ValueError('\\x1b]0;owned\\x07\\x1b[2J red\\u202e\\u2066txt.exe\\u200b')",
    "a megabyte": "raise ValueError('boom ' * 200000)",
    "many lines": "raise ValueError('boom\\n' * 500)",
    "half a character": "raise ValueError('\\ud800')",
    "no name": "class M(type):\n    @property\n    def __name__(cls): raise SystemExit\n"
    "class E(Exception, metaclass=M): pass\nraise E('x')",
    "notes": "e = ValueError('x'); e.__notes__ = 7\nraise e",
    "notes that raise": "class N:\n    def __str__(self): raise SystemExit\n"
    "e = ValueError('x'); e.__notes__ = [N()]\nraise e",
    "warning as error": "import warnings; warnings.simplefilter('error'); warnings.warn('deprecated')",
    "cause in a circle": "a, b = ValueError('a'), ValueError('b'); a.__cause__ = b; b.__cause__ = a\nraise a",
    "newel's own": "from newel_kernel import ConfigurationError; raise ConfigurationError('x')",
    "newel's own of plugins": "from newel_kernel import CompositionError; raise CompositionError(['x', 'y'])",
}


def raising(body: str, indent: int = 4) -> str:
    """The statements, indented."""
    return "\n".join(" " * indent + line for line in body.splitlines())


def at_import() -> Iterator[Case]:
    for name, body in RAISERS.items():
        yield Case(f"import raises {name}", body, LEFT_OUT)
    yield Case("a syntax error", "def (:", LEFT_OUT + "failed to load: SyntaxError")
    yield Case("a missing SDK", "import no_such_sdk", LEFT_OUT + ".*No module named 'no_such_sdk'")
    yield Case("imports itself", "from fake_odd import plugin", LEFT_OUT + ".*ImportError")
    yield Case("source in latin-1", lambda p: _bytes(p, "x = 'für'\n".encode("latin-1")), LEFT_OUT + ".*SyntaxError")
    yield Case("source with a NUL", lambda p: _bytes(p, b"x = 1\0\n"), LEFT_OUT)
    yield Case("a target that is not there", "x = 1", LEFT_OUT, target="fake_odd:plugin")
    yield Case("a target that raises", "def __getattr__(name): raise SystemExit", LEFT_OUT, target="fake_odd:plugin")
    limit = LEFT_OUT + r".*did not end within \d+ s"
    yield Case("hangs at import", "import time; time.sleep(1000)", limit)
    yield Case("spins at import", "while True: pass", limit)
    yield Case(
        "hangs and swallows", "import time\nwhile True:\n    try: time.sleep(1000)\n    except Exception: pass", limit
    )
    yield Case("waits for stdin", "import sys; sys.stdin.read(); input()", LEFT_OUT + ".*EOFError")
    yield Case(
        "a thread that stays", "import threading, time; threading.Thread(target=time.sleep, args=[1000]).start()"
    )
    yield Case(
        "prints at import", "print('hello from odd'); import os; os.write(1, b'raw')", r"odd.*(prints|writes) to stdout"
    )
    yield Case("prints a megabyte", "print('x' * 1000000)", r"odd.*(prints|writes) to stdout")
    yield Case("writes to stderr", "import sys; print('\\x1b[2Jhello', file=sys.stderr)", is_free=True)


def _bytes(packages: FakePackages, source: bytes) -> None:
    packages.install("odd", plugins={"odd": "fake_odd"}, files={"fake_odd.py": source})


CHANGES = {
    "signal handler": ("import signal; signal.signal(signal.SIGTERM, lambda *a: None)", "SIGTERM"),
    "interrupt handler": ("import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)", "SIGINT"),
    "umask": ("import os; os.umask(0)", "umask"),
    "warnings": ("import warnings; warnings.simplefilter('error')", "warning"),
    "root logger's level": ("import logging; logging.getLogger().setLevel(1)", "root logger"),
    "root logger's handlers": ("import logging; logging.basicConfig()", "root logger"),
    "logging off": ("import logging; logging.disable(100)", "logging"),
    "locale": ("import locale; locale.setlocale(locale.LC_ALL, 'C.UTF-8')", "locale"),
    "event loop policy": (
        "import asyncio\nclass P(asyncio.DefaultEventLoopPolicy): pass\nasyncio.set_event_loop_policy(P())",
        "event loop policy",
    ),
    "environment": (
        "import os; os.environ['NEWEL_DISTRIBUTION'] = 'minimal'; os.environ['HTTPS_PROXY'] = 'x'",
        "environment",
    ),
    "except hook": ("import sys; sys.excepthook = lambda *a: None", "excepthook"),
    "recursion limit": ("import sys; sys.setrecursionlimit(150)", "recursion limit"),
    "socket time-out": ("import socket; socket.setdefaulttimeout(0.001)", "socket"),
    "collector": ("import gc; gc.set_threshold(1)", "garbage"),
    "builtins": ("import builtins; builtins.print = lambda *a, **k: None", "builtins"),
    "search path": ("import sys; sys.path.clear()", "sys.path"),
    "modules of newel": (
        "import sys\nfor name in [*sys.modules]:\n    if name.startswith('newel.models'): del sys.modules[name]",
        "the modules of newel",
    ),
    "a module of newel": ("import sys; sys.modules['newel.models.kinds'] = None", "the modules of newel"),
    "forks": ("import os; os.fork()", "forks a process that ends here"),
    "folder": ("import os; os.chdir('/')", "working folder"),
    "stdout closed": ("import os; os.close(1)", "stdout"),
}


def changing() -> Iterator[Case]:
    for name, (body, word) in CHANGES.items():
        yield Case(f"changes at import: {name}", body, f"odd.*{word}")
        if name in ("umask", "signal handler", "stdout closed"):
            hook = f"{HOOK}@hookimpl\ndef register_observers():\n{raising(body)}\n    return []\n"
            yield Case(f"changes in a hook: {name}", hook, f"odd.*{word}")


OBJECTS = {
    "a class": ("class plugin: pass", LEFT_OUT),
    "None": ("plugin = None", LEFT_OUT),
    "a text": ("plugin = 'x' * 100000", LEFT_OUT),
    "__getattr__ raises": ("class P:\n    def __getattr__(self, n): raise RuntimeError(n)\nplugin = P()", ""),
    "__getattr__ gives junk": ("class P:\n    def __getattr__(self, n): return 42\nplugin = P()", ""),
    "__getattribute__ exits": ("class P:\n    def __getattribute__(self, n): raise SystemExit\nplugin = P()", LEFT_OUT),
    "__dir__ raises": ("class P:\n    def __dir__(self): raise SystemExit\nplugin = P()", LEFT_OUT),
    "__dir__ gives junk": ("class P:\n    def __dir__(self): return [1, None, 'x']\nplugin = P()", LEFT_OUT),
    "a property raises": ("class P:\n    @property\n    def x(self): raise KeyboardInterrupt\nplugin = P()", ""),
    "__eq__ raises": (
        "class P:\n    def __eq__(self, o): raise SystemExit\n    __hash__ = None\nplugin = P()",
        LEFT_OUT,
    ),
    "__hash__ raises": ("class P:\n    def __hash__(self): raise SystemExit\nplugin = P()", ""),
    "__bool__ raises": ("class P:\n    def __bool__(self): raise SystemExit\nplugin = P()", ""),
    "__class__ raises": (
        "class P:\n    @property\n    def __class__(self): raise SystemExit\nplugin = P()",
        LEFT_OUT,
    ),
    "__repr__ raises in a text": (
        "class S(str):\n    def __repr__(self): raise SystemExit\nplugin = S('x')",
        LEFT_OUT,
    ),
    "a name that raises": ("class P:\n    @property\n    def name(self): raise SystemExit\nplugin = P()", ""),
    "why_off exits": (
        "class P:\n    def why_off(self): raise SystemExit\nplugin = P()",
        "why_off.. failed: SystemExit",
    ),
    "why_off says escapes": ("class P:\n    def why_off(self): return '\\x1b[2J' * 9999\nplugin = P()", ""),
}


def objects() -> Iterator[Case]:
    for name, (body, told) in OBJECTS.items():
        yield Case(f"the plugin is an object: {name}", body, told, target="fake_odd:plugin")


def hook(name: str, body: str, arguments: str = "", head: str = "") -> str:
    """A module with one hook."""
    return f"{HOOK}{head}\n@hookimpl\ndef {name}({arguments}):\n{raising(body)}\n"


RESULTS = {
    "a number": "return 7",
    "None": "return None",
    "a generator": "yield 1",
    "an endless generator": "import itertools; return itertools.count()",
    "a dict": "return {}",
    "junk": "return [object()]",
    "junk whose repr raises": "class P:\n    def __repr__(self): raise SystemExit\nreturn [P()]",
    "junk with a long repr": "return ['\\x1b[2J' * 100000]",
    "a list whose iteration raises": "class L(list):\n    def __iter__(self): raise SystemExit\nreturn L([1])",
    "a nameless one": "return [ToolPolicy(name=None, wrap=lambda c: c)]",
    "an empty name": "return [ToolPolicy(name='', wrap=lambda c: c, after=('interrupts?',))]",
    "a name of escapes": "return [ToolPolicy(name='\\x1b[2J\\u202e', wrap=lambda c: c, after=('pairing',))]",
    "a name whose hash raises": "class S(str):\n    def __hash__(self): raise SystemExit\n"
    "return [ToolPolicy(name=S('x'), wrap=lambda c: c)]",
    "anchors that raise": "class T(tuple):\n    def __iter__(self): raise SystemExit\n"
    "return [ToolPolicy(name='x', wrap=lambda c: c, after=T())]",
    "anchors that are a text": "return [ToolPolicy(name='x', wrap=lambda c: c, after='contents')]",
    "no place": "return [ToolPolicy(name='x', wrap=lambda c: c)]",
    "a wrap that is a text": "return [ToolPolicy(name='x', wrap='wrap', after=('pairing',))]",
    "a kind of another hook": "return [Observer(name='x', notify=print)]",
    "500 of them": "return [ToolPolicy(name=f'x{i}', wrap=lambda c: c) for i in range(500)]",
    "one twice": "return [ToolPolicy(name='x', wrap=lambda c: c, after=('undeclared?',))] * 2",
}


def hooks() -> Iterator[Case]:
    for name in (
        "KeyboardInterrupt",
        "BaseExceptionGroup",
        "str raises",
        "escapes",
        "half a character",
        "notes",
        "no name",
    ):
        yield Case(f"a hook raises {name}", hook("register_tool_policies", RAISERS[name]), LEFT_OUT)
    for name, which in zip(
        ("SystemExit", "CancelledError", "newel's own of plugins", "newel's own"),
        ("register_settings", "register_kinds", "register_hook_policies", "register_commands"),
        strict=True,
    ):
        yield Case(f"{which} raises {name}", hook(which, RAISERS[name]), LEFT_OUT)
    for name, body in RESULTS.items():
        yield Case(f"a hook returns {name}", hook("register_tool_policies", body), LEFT_OUT)
    yield Case("a hook is async", f"{HOOK}@hookimpl\nasync def register_tool_policies(): return []", LEFT_OUT)
    yield Case("a hook hangs", hook("register_tool_policies", "time.sleep(1000)"), LEFT_OUT + r".*did not end within")
    yield Case("a hook with other arguments", hook("register_tool_policies", "return []", "a, b"), LEFT_OUT)
    yield Case("a hook without a mark", "def register_tool_policies(): return []", LEFT_OUT)
    yield Case(
        "a hook of pluggy's",
        "import pluggy\n@pluggy.HookimplMarker('newel')\ndef register_tool_policis(): return []",
        LEFT_OUT,
    )
    yield Case("a hook that is misspelt", hook("before_model_calback", "pass"), LEFT_OUT)
    for kind in ("wrapper", "hookwrapper"):
        head = f"{HOOK}@hookimpl({kind}=True)\n"
        yield Case(
            f"{kind} of a registration", f"{head}def register_tool_policies():\n    yield\n", f"(?s){LEFT_OUT}.*wrapper"
        )
        source = f"{head}def before_model_callback(callback_context, llm_request):\n    yield\n"
        yield Case(f"{kind} of a lifecycle hook", source, f"(?s){LEFT_OUT}.*wrapper")


SETTINGS = {
    "an instance": "from pydantic import BaseModel\nreturn BaseModel()",
    "a class of no model": "return dict",
    "a needed one": "from pydantic import BaseModel\nclass S(BaseModel):\n    key: str\nreturn S",
    "a default that raises": "from pydantic import BaseModel, Field\ndef d(): raise SystemExit\n"
    "class S(BaseModel):\n    key: int = Field(default_factory=d)\nreturn S",
    "a validator that exits": "from pydantic import BaseModel, model_validator\nclass S(BaseModel):\n    a: int = 1\n"
    "    @model_validator(mode='before')\n    @classmethod\n    def v(cls, d): raise SystemExit\nreturn S",
    "a validator that raises": "from pydantic import BaseModel, model_validator\nclass S(BaseModel):\n    a: int = 1\n"
    "    @model_validator(mode='after')\n    def v(self): raise RuntimeError('x')\nreturn S",
    "a type that is not there": "from pydantic import BaseModel\nclass S(BaseModel):\n    a: 'Nothing' = None\nreturn S",
    "a metaclass that raises": "from pydantic import BaseModel\nclass S(BaseModel):\n    a: int = 1\n"
    "S.model_fields_set = 1\nS.__pydantic_validator__ = None\nreturn S",
}


def settings() -> Iterator[Case]:
    for name, body in SETTINGS.items():
        yield Case(f"settings are {name}", hook("register_settings", body), LEFT_OUT)


KIND = (
    "from dataclasses import dataclass\n@dataclass(frozen=True, slots=True, kw_only=True)\n"
    "class Steep(Stage):\n    run: object = None\n@hookspec\ndef register_steeps(settings):\n    return ()\n"
)


def kinds() -> Iterator[Case]:
    for order in ("request_chain", "tool_chain", "model_chain", "observers"):
        body = f"return [Kind(Steep, register_steeps, order='{order}', open_ended=True)]"
        yield Case(f"a kind takes the order {order}", hook("register_kinds", body, head=KIND), LEFT_OUT + ".*order")
    yield Case(
        "a kind without @hookspec",
        hook(
            "register_kinds",
            "return [Kind(Steep, register_steeps, order='steeps')]",
            head=KIND.replace("@hookspec", ""),
        ),
        LEFT_OUT + ".*hookspec",
    )
    yield Case(
        "a kind whose hookspec is its module's",
        hook("register_kinds", "return [Kind(Steep, register_steeps, order='steeps')]", head=KIND),
    )
    yield Case(
        "a kind of newel's commands",
        hook(
            "register_kinds",
            "return [Kind(Descriptor, register_commands)]",
            head="@hookspec\ndef register_commands(settings): return ()\n",
        ),
        LEFT_OUT,
    )
    yield Case(
        "a kind of newel's settings",
        hook(
            "register_kinds",
            "return [Kind(Descriptor, register_settings)]",
            head="@hookspec\ndef register_settings(): return ()\n",
        ),
        LEFT_OUT,
    )
    yield Case(
        "a kind of the kernel's",
        hook(
            "register_kinds",
            "return [Kind(Descriptor, register_observers)]",
            head="@hookspec\ndef register_observers(settings): return ()\n",
        ),
        LEFT_OUT,
    )
    yield Case(
        "a kind with an unnamed hook",
        hook(
            "register_kinds", "return [Kind(Descriptor, steeps)]", head="@hookspec\ndef steeps(settings): return ()\n"
        ),
        LEFT_OUT,
    )
    yield Case("a kind of nothing", hook("register_kinds", "return [Kind(None, None)]"), LEFT_OUT)
    yield Case(
        "a kind of a text", hook("register_kinds", "return [Kind('Steep', register_steeps)]", head=KIND), LEFT_OUT
    )
    yield Case(
        "a kind whose order is a list",
        hook("register_kinds", "return [Kind(Steep, register_steeps, order=['steeps'])]", head=KIND),
        LEFT_OUT,
    )
    yield Case(
        "a kind with an order, without anchors",
        hook("register_kinds", "return [Kind(Descriptor, register_steeps, order='steeps')]", head=KIND),
        LEFT_OUT,
    )
    yield Case(
        "a kind whose anchors have no order",
        hook("register_kinds", "return [Kind(Steep, register_steeps)]", head=KIND),
        LEFT_OUT,
    )
    yield Case(
        "a kind's class that raises",
        hook(
            "register_kinds",
            "return [Kind(Steep, register_steeps, order='steeps')]",
            head=KIND.replace("    run", "    guards = property(lambda s: exit())\n    run"),
        ),
    )
    yield Case(
        "a kind with a lifecycle hook's name",
        hook(
            "register_kinds",
            "return [Kind(Descriptor, before_run_callback)]",
            head="@hookspec\ndef before_run_callback(x): return ()\n",
        ),
        LEFT_OUT,
    )
    yield Case(
        "an own kind, with items",
        hook("register_kinds", "return [Kind(Steep, register_steeps, order='steeps', open_ended=True)]", head=KIND)
        + "@hookimpl(specname='register_steeps')\ndef steeps(): return [Steep(name='a')]\n",
    )


def step(kind: str, hook_name: str, body: str, more: str = "", plain: bool = False) -> str:
    """A plugin whose step has this body."""
    head = f"{'def' if plain else 'async def'} run(*args):\n{raising(body)}\n"
    return hook(hook_name, f"return [{kind}(name='odd', run=run, {more})]", head=head)


def steps() -> Iterator[Case]:
    raised = r"(?s)Error: .*odd"
    for name in (
        "RuntimeError",
        "SystemExit",
        "KeyboardInterrupt",
        "CancelledError",
        "escapes",
        "str raises",
        "a megabyte",
        "newel's own",
        "GeneratorExit",
    ):
        request = step("RequestProcessor", "register_request_processors", RAISERS[name], "after=('contents',)")
        yield Case(f"a processor raises {name}", request, run=raised)
    for name in ("BaseExceptionGroup", "notes", "no name", "KeyboardInterrupt"):
        yield Case(
            f"a prologue raises {name}", step("Prologue", "register_prologues", RAISERS[name], plain=True), run=raised
        )
        yield Case(f"an epilogue raises {name}", step("Epilogue", "register_epilogues", RAISERS[name]), run=raised)
        source = f"{HOOK}@hookimpl\nasync def before_model_callback(callback_context, llm_request):\n{raising(RAISERS[name])}\n"
        yield Case(f"a callback raises {name}", source, run=raised)
    for name in ("SystemExit", "KeyboardInterrupt", "CancelledError", "str raises", "notes", "escapes"):
        head = f"def notify(signal):\n{raising(RAISERS[name])}\n"
        yield Case(
            f"an observer raises {name}",
            hook("register_observers", "return [Observer(name='odd', notify=notify)]", head=head),
        )
    yield Case(
        "a processor returns junk",
        step("RequestProcessor", "register_request_processors", "return 'x'", "after=('contents',)"),
        run=raised,
    )
    yield Case(
        "applies_to exits",
        step(
            "RequestProcessor",
            "register_request_processors",
            "pass",
            "after=('contents',), applies_to=lambda a: exit()",
        ),
        run="(?s)odd",
    )
    limits = "settings: {hook_timeout: {seconds: 0.2}}"
    for name, body in {"hangs": "await asyncio.sleep(1000)"}.items():
        source = f"{HOOK}@hookimpl\nasync def before_model_callback(callback_context, llm_request):\n{raising(body)}\n"
        yield Case(f"a callback {name}", source, run=r"(?s)odd.*did not end", house=limits)


def provided() -> Iterator[Case]:
    head = "from newel.cli.kinds import Command\nimport click\n"
    loads = {
        "exits": "def load(): raise SystemExit",
        "is junk": "def load(): return 7",
        "raises": "def load(): import no_such",
    }
    for name, body in loads.items():
        yield Case(
            f"a command {name}",
            hook("register_commands", "return [Command(name='brew', load=load)]", head=f"{head}{body}\n"),
        )
    yield Case(
        "a command named run",
        hook("register_commands", "return [Command(name='run', load=print)]", head=head),
        LEFT_OUT,
    )
    yield Case(
        "a command whose help has escapes",
        hook("register_commands", "return [Command(name='brew', load=print, help='\\x1b[2J\\u202e' * 999)]", head=head),
    )
    yield Case(
        "a command whose help is no text",
        hook("register_commands", "return [Command(name='brew', load=print, help=7)]", head=head),
    )
    yield Case(
        "a command whose name has escapes",
        hook("register_commands", "return [Command(name='br\\x1b[2Jew', load=print)]", head=head),
        LEFT_OUT,
    )
    yield Case(
        "a command that is print",
        hook("register_commands", "return [Command(name='plugins list', load=print)]", head=head),
    )
    model = "from newel.models.kinds import ModelProvider\ndef create(*a, **k): raise SystemExit\n"
    yield Case(
        "a provider whose pattern is no regular expression",
        hook(
            "register_model_providers",
            "return [ModelProvider(name='odd', patterns=('([',), create=create)]",
            head=model,
        ),
        LEFT_OUT + ".*regular expression",
    )
    yield Case(
        "a provider whose pattern is a number",
        hook(
            "register_model_providers", "return [ModelProvider(name='odd', patterns=(7,), create=create)]", head=model
        ),
        LEFT_OUT,
    )
    yield Case(
        "a provider whose default exits",
        hook(
            "register_model_providers",
            "return [ModelProvider(name='aodd', patterns=('aodd:.*',), create=create, default=lambda: exit())]",
            head=model,
        ),
    )
    store = "from newel.sessions.kinds import SessionBackend\n"
    for name, body in {"exits": "exit()", "returns None": "None", "returns junk": "object()"}.items():
        yield Case(
            f"a store whose open {name}",
            hook(
                "register_session_backends", f"return [SessionBackend(name='odd', open=lambda uri: {body})]", head=store
            ),
            run="(?s)odd",
            house="services: {session: 'odd:x'}",
        )
    yield Case(
        "a hook policy whose wrap exits",
        hook("register_hook_policies", "return [HookPolicy(name='odd', wrap=lambda b: exit())]"),
        LEFT_OUT,
    )
    yield Case(
        "a hook policy whose wrap gives junk",
        hook("register_hook_policies", "return [HookPolicy(name='odd', wrap=lambda b: 7)]"),
        LEFT_OUT,
    )
    for name, body in {
        "exits": "exit()",
        "gives junk": "7",
        "gives another stage": "Observer(name='x', notify=print)",
    }.items():
        yield Case(
            f"a stage policy whose wrap {name}",
            hook("register_stage_policies", f"return [StagePolicy(name='odd', wrap=lambda placed: {body})]"),
            LEFT_OUT,
        )
    yield Case(
        "a stage policy that names what there is not",
        hook("register_stage_policies", "return [StagePolicy(name='odd', wrap=lambda p: p.stage, stages=('nix',))]"),
        LEFT_OUT + "it names the stage 'nix'",
    )
    yield Case(
        "a tool adapter that exits",
        hook(
            "register_tool_adapters",
            "return [ToolAdapter(name='odd', accepts=lambda o: exit(), adapt=print)]",
            head="from newel.tools.kinds import ToolAdapter\n",
        ),
        "",
    )
    yield Case(
        "the stage contents",
        step("RequestProcessor", "register_request_processors", "pass").replace("name='odd'", "name='contents'"),
        LEFT_OUT,
    )
    yield Case(
        "a circle",
        step("RequestProcessor", "register_request_processors", "pass", "after=('contents',), before=('basic',)"),
        LEFT_OUT,
    )
    yield Case(
        "an anchor that is not there",
        step("RequestProcessor", "register_request_processors", "pass", "after=('content',)"),
        LEFT_OUT,
    )
    yield Case(
        "the plugin contents",
        lambda p: p.install("odd", plugins={"contents": "fake_odd"}, fake_odd="x = 1"),
        r"plugin 'contents' \(odd 1\.0\) is left out",
    )


def _info(packages: FakePackages, **files: bytes | None) -> Path:
    """The package odd, some of whose metadata are these bytes, or missing."""
    info = packages.install("odd", plugins={"odd": "fake_odd"}, fake_odd="x = 1")
    for name, data in files.items():
        path = info / {"points": "entry_points.txt", "metadata": "METADATA"}[name]
        path.unlink()
        if data is not None:
            path.write_bytes(data)
    return info


def _replaced(name: str, make: Callable[[Path], object]) -> Callable[[FakePackages], object]:
    def install(packages: FakePackages) -> None:
        path = _info(packages) / name
        path.unlink()
        make(path)

    return install


POINTS = "[newel.plugins]\nodd = fake_odd\n"
UNREADABLE = r"odd-1\.0\.dist-info.*(reinstall|uninstall)"


def metadata() -> Iterator[Case]:
    texts = {
        "entry points in latin-1": "[console_scripts]\nfür = x:y\n".encode("latin-1"),
        "binary entry points": b"\xff\xfe\x00\x01" * 50,
        "an entry point without =": b"[newel.plugins]\nodd\n",
        "an entry point without a target": b"[newel.plugins]\nodd =\n",
        "an entry point of nonsense": b"[newel.plugins]\nodd = a b c!!\n",
        "a target in the parent": b"[newel.plugins]\nodd = ..fake_odd\n",
        "a group that nobody knows": b"[newel.nonsense]\nx = y:z\n",
        "a group that does not end": b"[newel.plugins\nodd = fake_odd\n",
    }
    lefts = {
        "an entry point without =",
        "an entry point without a target",
        "an entry point of nonsense",
        "a target in the parent",
    }
    for name, data in texts.items():
        yield Case(name, lambda p, data=data: _info(p, points=data), LEFT_OUT if name in lefts else "")
    escapes = "[newel.plugins]\nodd\x1b[2J\u202e = fake_odd\n" + "n" * 10000 + " = fake_odd\n"
    yield Case("names of escapes", lambda p: _info(p, points=escapes.encode()), "is the same object as the plugin")
    yield Case(
        "10,000 entry points",
        lambda p: _info(
            p, points=b"[newel.plugins]\n" + b"".join(b"odd%d = nothing_%d\n" % (i, i) for i in range(10000))
        ),
        "odd",
    )
    yield Case("entry points in UTF-16", lambda p: _info(p, points=POINTS.encode("utf-16")), UNREADABLE)
    yield Case(
        "metadata in UTF-16",
        lambda p: _info(p, metadata="Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n".encode("utf-16")),
        "odd",
    )
    yield Case("metadata without a header", lambda p: _info(p, metadata=b"\n\nhello"), "odd")
    yield Case("no metadata", lambda p: _info(p, metadata=None), "odd")
    yield Case("empty metadata", lambda p: _info(p, metadata=b""), "odd")
    yield Case(
        "metadata in latin-1",
        lambda p: _info(p, metadata="Name: odd\nVersion: 1.0\nAuthor: Müller\n".encode("latin-1")),
    )
    yield Case(
        "metadata with escapes", lambda p: _info(p, metadata=b"Name: odd\x1b[2J\nVersion: \xe2\x80\xae1.0\n"), "odd"
    )
    yield Case("metadata of 50 MB", lambda p: _info(p, metadata=b"Name: odd\nVersion: 1.0\n\n" + b"x" * 50_000_000))
    yield Case("entry points of 50 MB", lambda p: _info(p, points=b"# x\n" * 12_500_000 + POINTS.encode()), "odd")
    yield Case("entry points are a folder", _replaced("entry_points.txt", Path.mkdir))
    yield Case(
        "entry points are a link to themselves", _replaced("entry_points.txt", lambda f: f.symlink_to(f)), UNREADABLE
    )
    yield Case("entry points are a pipe", _replaced("entry_points.txt", os.mkfifo), UNREADABLE)
    yield Case(
        "entry points are endless", _replaced("entry_points.txt", lambda f: f.symlink_to("/dev/zero")), UNREADABLE
    )
    yield Case("metadata are a pipe", _replaced("METADATA", os.mkfifo), "odd")
    yield Case("metadata are a link to themselves", _replaced("METADATA", lambda f: f.symlink_to(f)), "odd")
    yield Case("the folder is a file", lambda p: (p.path / "odd-1.0.dist-info").write_text("x"))
    yield Case("the folder is a link to nothing", lambda p: (p.path / "odd-1.0.dist-info").symlink_to("/nowhere/x"))
    yield Case(
        "the folder is a link to itself",
        lambda p: (p.path / "odd-1.0.dist-info").symlink_to(p.path / "odd-1.0.dist-info"),
    )
    yield Case("the folder is a pipe", lambda p: os.mkfifo(p.path / "odd-1.0.dist-info"))
    yield Case("an egg-info of nonsense", lambda p: (p.path / "odd.egg-info").write_bytes(b"\xff\xfe"))
    yield Case(
        "an unmet requirement",
        "x = 1",
        LEFT_OUT + ".*needs no-such-package>=2.*pip install",
        options={"metadata": "Requires-Dist: no-such-package>=2\n"},
    )
    yield Case("a requirement of nonsense", "x = 1", options={"metadata": "Requires-Dist: \x1b[2J ((( >=\n"})
    yield Case(
        "two of one name",
        lambda p: (
            p.install("odd", plugins={"odd": "fake_odd"}, fake_odd="x = 1"),
            p.install("odd", "2.0", plugins={"odd": "fake_odd"}),
        ),
    )
    yield Case(
        "two packages with one plugin",
        lambda p: (
            p.install("odd", plugins={"odd": "fake_odd"}, fake_odd="x = 1"),
            p.install("odder", plugins={"odd": "fake_odder"}, fake_odder="x = 1"),
        ),
        r"plugin 'odd' \(odder 1\.0\) is left out",
    )
    yield Case(
        "it says that it is newel",
        lambda p: p.install("newel", "9.9", plugins={"odd": "fake_odd"}, fake_odd="import os; os.close(1)"),
        r"newel-9\.9",
    )
    yield Case(
        "it is newel, earlier on the path, with its distributions and plugins",
        lambda p: p.install(
            "newel",
            "9.9",
            plugins={"contents": "fake_odd", "commands": "fake_odd"},
            distributions={"standard": "fake_odd"},
            fake_odd="raise SystemExit(0)",
        ),
        r"newel-9\.9",
    )
    for api, told in {
        "9.0": "needs newel's API 9.0",
        "0.1": "was written for newel's API 0.1",
        "latest": "names the version 'latest'",
        "1.0.0": "names the version '1.0.0'",
        "9" * 300: "names the version '999",
    }.items():
        yield Case(
            f"it is for API {api[:9]}",
            lambda p, api=api: p.install("odd", plugins={"odd": "fake_odd"}, api=api, fake_odd="exit()"),
            LEFT_OUT + ".*" + told,
        )
    yield Case("a plugin in an archive", _zipped, "")


def _zipped(packages: FakePackages) -> None:
    with ZipFile(packages.path / "odd.zip", "w") as archive:
        archive.writestr("odd-1.0.dist-info/METADATA", "Name: odd\nVersion: 1.0\n")
        archive.writestr("odd-1.0.dist-info/entry_points.txt", POINTS)
        archive.writestr("fake_odd.py", "x = 1")


def shipped() -> Iterator[Case]:
    targets = {
        "raises": "raise RuntimeError('x')",
        "exits": "raise SystemExit(0)",
        "is broken": "def (:",
        "hangs": "import time; time.sleep(1000)",
        "changes the umask": "import os; os.umask(0)",
    }
    for name, source in targets.items():
        files = {"odd_house/__init__.py": source, "odd_house/sub.py": ""}
        told = "" if name == "changes the umask" else r"distribution 'mine' \(odd 1\.0\) is left out"
        yield Case(
            f"a distribution whose package {name}",
            lambda p, files=files: p.install("odd", distributions={"mine": "odd_house.sub"}, files=files),
            told,
        )
    for name, target in {
        "an attribute": "odd_house:x",
        "nothing": "",
        "a relative one": ".x",
        "the program": "__main__",
    }.items():
        yield Case(
            f"a distribution whose target is {name}",
            lambda p, target=target: p.install(
                "odd", distributions={"mine": target}, files={"odd_house/__init__.py": ""}
            ),
            r"distribution 'mine' \(odd 1\.0\) is left out" if target in (".x", "__main__") else "",
        )
    files = {"odd_house/__init__.py": "", "odd_house/standard.yaml": "name: standard\nplugins: []\n"}
    yield Case(
        "a distribution that is called standard",
        lambda p: p.install("odd", distributions={"standard": "odd_house"}, files=files),
        "is left out",
    )


CASES = [
    *at_import(),
    *changing(),
    *objects(),
    *hooks(),
    *settings(),
    *kinds(),
    *steps(),
    *provided(),
    *metadata(),
    *shipped(),
]
