"""One process of many: `stage.py FOLDER` begins every pair's invocation, or answers what it waits for.

It prints how many invocations wait.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from kinds import PAIRS, answer, file_effect, make_runner, send, unanswered

from newel.sessions import SqliteSessionService


async def main(folder: Path) -> int:
    waiting = 0
    begun = (folder / "sessions.db").exists()
    store = SqliteSessionService(str(folder / "sessions.db"))
    for outer, inner in PAIRS:
        session_id = f"{outer}-{inner}"
        runner = make_runner(outer, inner, store, file_effect(folder / "effects", session_id), "standard")
        if not begun:
            await send(runner, session_id, "go")
        else:
            for request, invocation_id in (await unanswered(store, session_id)).items():
                await send(runner, session_id, answer([request]), invocation_id)
        waiting += bool(await unanswered(store, session_id))
    await store.close()
    return waiting


print(asyncio.run(main(Path(sys.argv[1]))))
