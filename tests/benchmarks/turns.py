"""The cases of floor.py, run by newel.

``python turns.py CASE [key=value ...]`` prints one line of JSON. The distribution is the one that
NEWEL_DISTRIBUTION names, else `standard`. Nothing of newel is imported before `Bench.imports`.
"""
# ruff: noqa: UP031

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import Any

import common
from common import ANSWER, SYSTEM, TOOLS, USER_TEXT, lookup

os.environ.setdefault("NEWEL_DISTRIBUTION", "standard")


class Bench:
    PEER = "newel"

    def imports(self) -> None:
        """What a program with an LLM agent, a model of its own and sessions in memory imports."""
        global Event, InMemorySessionService, LlmAgent, LlmResponse, ParallelAgent, RunConfig, Runner
        global ScriptedLlm, SequentialAgent, StreamingMode, types
        from newel import types
        from newel.agents import LlmAgent, ParallelAgent, SequentialAgent
        from newel.agents.run_config import RunConfig, StreamingMode
        from newel.events import Event
        from newel.models import BaseLlm, LlmResponse
        from newel.runners import Runner
        from newel.sessions import InMemorySessionService

        Content, Part, FunctionCall = types.Content, types.Part, types.FunctionCall

        def said(*parts: Any, **fields: Any) -> LlmResponse:
            return LlmResponse(content=Content(role="model", parts=list(parts)), **fields)

        class ScriptedLlm(BaseLlm):
            """Answers by `mode`: text, stream (`n` chunks), tool, tools (`n` calls), transfer."""

            mode: str = "text"
            delay: float = 0.0
            n: int = 8
            i: int = 0

            async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
                if self.delay:
                    await asyncio.sleep(self.delay)
                self.i += 1
                last = llm_request.contents[-1].parts[-1]
                if self.mode == "stream":
                    chunks = ["token%d " % i for i in range(self.n)]
                    for chunk in chunks:
                        yield said(Part(text=chunk), partial=True)
                    yield said(Part(text="".join(chunks)), partial=False)
                elif self.mode == "text" or last.function_response is not None:
                    yield said(Part(text=ANSWER % self.i))
                else:
                    yield said(*[Part(function_call=call) for call in self.calls()])

            def calls(self) -> list[Any]:
                if self.mode == "tools":
                    ids = ["call_%d_%d" % (self.i, k) for k in range(self.n)]
                    return [FunctionCall(id=one, name="lookup", args={"city": "Paris"}) for one in ids]
                if self.mode == "tool":
                    return [FunctionCall(id="call_%d" % self.i, name="get_weather", args={"city": "Paris"})]
                return [FunctionCall(id="call_%d" % self.i, name="transfer_to_agent", args={"agent_name": "sub"})]

    # --- agents, messages, sessions -------------------------------------------------------------------

    def agent(self, name: str = "a", mode: str = "text", tools: Any = (), subs: Any = (), **model: Any) -> Any:
        return LlmAgent(
            name=name,
            model=ScriptedLlm(model="scripted", mode=mode, **model),
            instruction=SYSTEM,
            tools=list(tools),
            sub_agents=list(subs),
        )

    def message(self) -> Any:
        return types.Content(role="user", parts=[types.Part(text=USER_TEXT % 1)])

    async def seed(self, service: Any, session: Any, n: int) -> None:
        """`n` events, the user's and the agent's in turn."""
        for i in range(n):
            author, role, text = ("user", "user", USER_TEXT) if i % 2 == 0 else ("a", "model", ANSWER)
            content = types.Content(role=role, parts=[types.Part(text=text % i)])
            await service.append_event(session, Event(author=author, invocation_id="inv%d" % (i // 2), content=content))

    def stored(self, service: Any, session: Any) -> Any:
        return service.sessions["app"][session.user_id][session.id]

    async def turn_of(self, runner: Any, session_id: str, **options: Any) -> int:
        """One turn; the number of events."""
        events = runner.run_async(user_id="u", session_id=session_id, new_message=self.message(), **options)
        return len([event async for event in events])

    # --- cases ----------------------------------------------------------------------------------------

    def turn(self, agent: Any, expect: int, once: bool = False) -> Any:
        async def go() -> Any:
            service = InMemorySessionService()
            runner = Runner(app_name="app", agent=agent, session_service=service)

            async def fn() -> None:
                session = await service.create_session(app_name="app", user_id="u")
                n = 0
                async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=self.message()):
                    n += 1
                assert n == expect, n

            if once:
                return await fn()
            return await common.loop_async(fn, max_ops=common.FRESH_MAX, warmup=50)

        return asyncio.run(go())

    def case_construct(self) -> Any:
        model = ScriptedLlm(model="scripted")
        return common.construct(lambda: LlmAgent(name="a", model=model, instruction=SYSTEM, tools=list(TOOLS)))

    def case_turn_text(self) -> Any:
        return self.turn(self.agent(), 1)

    def case_turn_tool(self, once: bool = False) -> Any:
        return self.turn(self.agent(mode="tool", tools=TOOLS[:1]), 3, once)

    def case_turn_tool_many(self, tools: int = 20) -> Any:
        return self.turn(self.agent(mode="tool", tools=TOOLS[:1] + common.many_tools(tools - 1)), 3)

    def case_turn_tools_parallel(self) -> Any:
        return self.turn(self.agent(mode="tools", tools=[lookup]), 3)

    def case_transfer(self) -> Any:
        return self.turn(self.agent(mode="transfer", subs=[self.agent("sub")]), 3)

    def case_sequential(self) -> Any:
        return self.turn(SequentialAgent(name="seq", sub_agents=[self.agent("a%d" % i) for i in range(3)]), 3)

    def case_parallel(self) -> Any:
        return self.turn(ParallelAgent(name="par", sub_agents=[self.agent("a%d" % i) for i in range(4)]), 4)

    def case_long_session(self, n: int = 1000) -> Any:
        async def go() -> Any:
            service = InMemorySessionService()
            runner = Runner(app_name="app", agent=self.agent(), session_service=service)
            session = await service.create_session(app_name="app", user_id="u")
            log = self.stored(service, session).events
            await self.seed(service, self.stored(service, session), n)

            async def fn() -> None:
                await self.turn_of(runner, session.id)
                list.__delitem__(log, slice(n, None))  # keep the history at n; the log itself refuses to be cut

            return await common.loop_async(fn, warmup=1)

        return asyncio.run(go())

    def case_stream(self, n: int = 1000, history: int = 0) -> Any:
        async def go() -> Any:
            service = InMemorySessionService()
            runner = Runner(app_name="app", agent=self.agent(mode="stream", n=n), session_service=service)
            sse = RunConfig(streaming_mode=StreamingMode.SSE)

            async def fn() -> None:
                session = await service.create_session(app_name="app", user_id="u")
                await self.seed(service, self.stored(service, session), history)
                k = 0
                async for _ in runner.run_async(
                    user_id="u", session_id=session.id, new_message=self.message(), run_config=sse
                ):
                    k += 1
                assert k == n + 1, k

            result = await common.loop_async(fn, warmup=1)
            result["ops"] *= n
            return result

        return asyncio.run(go())

    def case_concurrent(self, n: int = 1000) -> Any:
        async def go() -> Any:
            service = InMemorySessionService()
            agent = self.agent(mode="tool", tools=TOOLS[:1], delay=0.02)
            runner = Runner(app_name="app", agent=agent, session_service=service)

            async def one() -> None:
                session = await service.create_session(app_name="app", user_id="u")
                await self.turn_of(runner, session.id)

            await one()

            async def every() -> None:
                await asyncio.gather(*[one() for _ in range(n)])

            return await common.one_shot(every, n)

        return asyncio.run(go())

    def case_persist(self, n: int = 100, backend: str = "sqlite") -> Any:
        from newel.sessions.sqlite_session_service import SqliteSessionService

        async def go() -> Any:
            path = common.tmpdir() + "/sessions.db"
            service = SqliteSessionService(path)
            runner = Runner(app_name="app", agent=self.agent(), session_service=service)

            async def seed(k: int) -> str:
                session = await service.create_session(app_name="app", user_id="u")
                await self.seed(service, session, k)
                return session.id

            async def turn(session_id: str) -> None:
                await self.turn_of(runner, session_id)

            result = await common.persist_case(seed, turn, path, n)
            with suppress(Exception):
                await service.close()
            return result

        return asyncio.run(go())

    def case_mem_sessions(self, n: int = 2000) -> Any:
        async def go() -> Any:
            service = InMemorySessionService()

            async def make(i: int) -> None:
                session = await service.create_session(app_name="app", user_id="u%d" % i)
                await self.seed(service, self.stored(service, session), 20)

            return await common.mem_sessions(make, n)

        return asyncio.run(go())


if __name__ == "__main__":
    common.main(Bench)
