"""What an evaluation costs: ``python evaluation.py [cases]`` prints one line of JSON.

Milliseconds of CPU for importing evaluation with offline metrics, and for a case of three turns, the least of five
runs; and the most memory, in MB.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from typing import Any


def cpu() -> float:
    """Milliseconds of CPU that the process has had."""
    return time.process_time() * 1000


def main(count: int) -> dict[str, float]:
    """The figures."""
    began = cpu()
    from newel.agents import LlmAgent
    from newel.evaluation import EvalCase, EvalSet, Invocation, evaluate
    from newel.models import BaseLlm
    from newel_kernel import LlmResponse
    from newel_types import Content, Part

    imported = cpu() - began

    class Echo(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            yield LlmResponse(content=Content(role="model", parts=[Part(text="echo of the words " * 6)]))

    expected = {"parts": [{"text": "echo of words " * 6}]}
    turn = Invocation.model_validate({"user_content": {"parts": [{"text": "hi"}]}, "final_response": expected})
    cases = [EvalCase(eval_id=f"c{n}", conversation=[turn] * 3) for n in range(count)]
    agent = LlmAgent(name="a", model=Echo(model="e"))
    took = []
    for _ in range(5):
        began = cpu()
        asyncio.run(evaluate(agent, EvalSet(eval_set_id="s", eval_cases=cases)))
        took.append((cpu() - began) / count)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"import_ms": round(imported, 1), "case_ms": round(min(took), 2), "memory_mb": round(memory, 1)}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)))
