"""Registration hooks of what takes part in a turn: processors, policies, models, tools, agents, planners."""

from __future__ import annotations

from collections.abc import Sequence

from newel_kernel.contracts import descriptors as d
from newel_kernel.hookspecs.markers import Settings, hookspec


@hookspec
def register_request_processors(settings: Settings) -> Sequence[d.RequestProcessor]:
    """Processors of the request chain. A step that edits every model request.

    Its place is in the distribution's `request_chain`, or beside an anchor.

    >>> async def shout(ctx, request):
    ...     request.append_instructions(["Answer in capitals."])
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_request_processors(self):
    ...         return [RequestProcessor(name="shout", run=shout, after=("identity",))]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> [p.name for p in composed.request_chain if p.name in ("identity", "shout")]
    ['identity', 'shout']
    """
    return ()


@hookspec
def register_response_processors(settings: Settings) -> Sequence[d.ResponseProcessor]:
    """Processors of the response chain. A step that edits every model response before it becomes an event.

    >>> async def trim(ctx, request, response):
    ...     response.custom_metadata = {"trimmed": True}
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_response_processors(self):
    ...         return [ResponseProcessor(name="trim", run=trim, after=("planning",))]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.response_chain[1].name
    'trim'
    """
    return ()


@hookspec
def register_result_processors(settings: Settings) -> Sequence[d.ResultProcessor]:
    """Processors of the result chain. A step that sees the event of tool results.

    It may add events before or after that event.

    >>> async def audit(ctx, call_event, result_event):
    ...     return None
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_result_processors(self):
    ...         return [ResultProcessor(name="audit", run=audit, after=("confirmation",))]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> [p.name for p in composed.result_chain if p.name in ("confirmation", "audit")]
    ['confirmation', 'audit']
    """
    return ()


@hookspec
def register_tool_policies(settings: Settings) -> Sequence[d.ToolPolicy]:
    """Policies around each tool call. Wraps the call: may bound it, retry it, refuse it, change its result.

    >>> def twice(call_tool):
    ...     async def again(tool, args, context):
    ...         await call_tool(tool, args, context)
    ...         return await call_tool(tool, args, context)
    ...     return again
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_tool_policies(self):
    ...         return [ToolPolicy(name="twice", wrap=twice)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> [policy.name for policy in composed.tool_chain]
    ['twice']
    """
    return ()


@hookspec
def register_prologues(settings: Settings) -> Sequence[d.Prologue]:
    """What precedes an invocation. A step that runs when a message has come in, before it is stored.

    >>> async def greet(ctx):
    ...     return [Event(author="waiter", message="Welcome back")] if ctx.session.events else None
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_prologues(self):
    ...         return [Prologue(name="greet", run=greet)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("Prologue", "greet").name
    'greet'
    """
    return ()


@hookspec
def register_epilogues(settings: Settings) -> Sequence[d.Epilogue]:
    """What follows an invocation. A step that runs once it is over, also on an error and on cancellation.

    >>> async def sign(ctx, error):
    ...     return [Event(author="waiter", message="That failed")] if error else None
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_epilogues(self):
    ...         return [Epilogue(name="sign", run=sign)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("Epilogue", "sign").name
    'sign'
    """
    return ()


@hookspec
def register_observers(settings: Settings) -> Sequence[d.Observer]:
    """Observers of operations. Each is told when an invocation, an agent, a model or a tool starts and ends.

    A signal has a `phase` (start, stop or exception), an `operation` and how many `seconds` it took.

    >>> ended = []
    >>> def note(signal):
    ...     if signal.phase != "start":
    ...         ended.append((signal.phase, signal.operation.kind, signal.operation.name))
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_observers(self):
    ...         return [Observer(name="notes", notify=note)]
    >>> say(Plugin(), "tea")
    'you said: tea'
    >>> ended
    [('stop', 'model', 'parrot'), ('stop', 'agent', 'waiter'), ('stop', 'invocation', 'tearoom')]
    """
    return ()


@hookspec
def register_model_providers(settings: Settings) -> Sequence[d.ModelProvider]:
    """Providers of models. Makes a model from an address such as ``parrot:loud``.

    The SDK is imported in `create`, never in the plugin.

    >>> def parrot(address):
    ...     return ScriptedModel([address])
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_model_providers(self):
    ...         return [ModelProvider(name="parrot", create=parrot, patterns=("parrot-.*",))]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("ModelProvider", "parrot").name
    'parrot'
    """
    return ()


@hookspec
def register_code_executors(settings: Settings) -> Sequence[d.CodeExecutor]:
    """Code executors. Makes an executor of code that a model wrote.

    >>> def jail(**settings):
    ...     raise NotImplementedError
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_code_executors(self):
    ...         return [CodeExecutor(name="jail", create=jail)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("CodeExecutor", "jail").name
    'jail'
    """
    return ()


@hookspec
def register_planners(settings: Settings) -> Sequence[d.Planner]:
    """Planners. Makes a planner.

    >>> def chess(**settings):
    ...     raise NotImplementedError
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_planners(self):
    ...         return [Planner(name="chess", create=chess)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("Planner", "chess").name
    'chess'
    """
    return ()


@hookspec
def register_tool_factories(settings: Settings) -> Sequence[d.ToolFactory]:
    """Tools that an agent file can name. Makes a tool from the arguments in the file.

    >>> def dice(sides=6):
    ...     return lambda: sides
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_tool_factories(self):
    ...         return [ToolFactory(name="dice", create=dice)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("ToolFactory", "dice").name
    'dice'
    """
    return ()


@hookspec
def register_tool_adapters(settings: Settings) -> Sequence[d.ToolAdapter]:
    """Adapters of foreign tools. Turns objects in an agent's `tools` that are no tools into tools.

    >>> def is_magic(entry):
    ...     return isinstance(entry, range)
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_tool_adapters(self):
    ...         return [ToolAdapter(name="ranges", accepts=is_magic, adapt=list)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("ToolAdapter", "ranges").name
    'ranges'
    """
    return ()


@hookspec
def register_agent_types(settings: Settings) -> Sequence[d.AgentType]:
    """Agent classes that an agent file can name. Imports and returns an agent class; it runs when a file names it.

    >>> def load_agent():
    ...     return BaseAgent
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_agent_types(self):
    ...         return [AgentType(name="MyAgent", load=load_agent)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("AgentType", "MyAgent").name
    'MyAgent'
    """
    return ()
