import asyncio
from newel.workflow._workflow import Workflow
from newel.workflow._node_status import NodeStatus
from newel.runners import InMemoryRunner
from newel.agents import LlmAgent

async def inspect_workflow_state():
    wf = Workflow(name="demo", edges=[...])
    runner = InMemoryRunner(agent=wf)
    session = await runner.session_service.create_session(
        app_name="demo", user_id="u1"
    )
    # Run one turn
    async for event in runner.run_async(
        user_id="u1",
        session_id=session.session_id,
        new_message=types.Content(parts=[types.Part.from_text("go")]),
    ):
        # NodeState is not directly exposed on events, but the event's
        # author and branch fields reflect the NodeRunner's child context
        print(f"event from: {event.author}, branch: {event.branch}")

asyncio.run(inspect_workflow_state())
