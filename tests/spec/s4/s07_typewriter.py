from newel.runners import InMemoryRunner
from newel import types

runner = InMemoryRunner(agent=my_agent)
session = await runner.session_service.create_session(
    app_name="demo", user_id="u1"
)

import sys

async for event in runner.run_async(
    user_id="u1",
    session_id=session.session_id,
    new_message=types.Content(parts=[types.Part.from_text("Explain gravity.")]),
    run_config=RunConfig(streaming_mode=StreamingMode.SSE),
):
    if event.partial and event.content:
        # StreamingResponseAggregator emits partial=True events for typewriter
        for part in event.content.parts:
            if part.text and not part.thought:
                sys.stdout.write(part.text)
                sys.stdout.flush()
    elif not event.partial and event.content:
        # Final aggregated event — contains the complete text
        # Skip if you're already displaying partial chunks to avoid duplicate output
        pass
