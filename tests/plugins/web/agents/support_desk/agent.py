"""A support desk whose models follow rules, with tokens and prices, so that every panel has something to show."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from newel import Agent, Context, tool
from newel.testing import ScriptedModel
from newel.types import Content, FunctionCall, GenerateContentResponseUsageMetadata, Part
from newel_kernel import LlmRequest, LlmResponse

ORDERS = {
    17: {"item": "walking boots", "price_euro": 129.0, "state": "delivered"},
    19: {"item": "rain jacket", "price_euro": 89.0, "state": "on its way, here on Friday"},
}
LIMIT = 50.0


async def find_order(number: int, tool_context: Context) -> dict[str, object]:
    """Find an order by its number.

    Args:
        number: The number of the order.
    """
    await asyncio.sleep(0.02)
    if number not in ORDERS:
        raise LookupError(f"there is no order {number}")
    tool_context.state["user:last_order"] = number
    tool_context.state["orders_seen"] = [*tool_context.state.get("orders_seen", []), number]
    return {"number": number, **ORDERS[number]}


@tool(require_confirmation=lambda number, amount, **_: amount > LIMIT, effect="at_most_once")
async def refund(number: int, amount: float, tool_context: Context) -> dict[str, object]:
    """Pay money back for an order.

    Args:
        number: The number of the order.
        amount: How much, in euros.
    """
    tool_context.state["user:refunds"] = {**tool_context.state.get("user:refunds", {}), str(number): amount}
    return {"refunded_euro": amount, "order": number}


async def write_bill(number: int, tool_context: Context) -> dict[str, object]:
    """Write the bill of an order into a file.

    Args:
        number: The number of the order.
    """
    version = await tool_context.save_artifact(f"bill-{number}.md", Part(text=f"# Bill\n\nOrder {number}\n"))
    return {"file": f"bill-{number}.md", "version": version}


def usage(request: LlmRequest, words: int, thoughts: int = 0) -> GenerateContentResponseUsageMetadata:
    """Tokens and a price that grow with the request, most of which was cached."""
    prompt = 1_200 + 180 * len(request.contents)
    cached = 900 if len(request.contents) > 1 else 0
    return GenerateContentResponseUsageMetadata.model_validate(
        {
            "promptTokenCount": prompt,
            "cachedContentTokenCount": cached,
            "candidatesTokenCount": words,
            "thoughtsTokenCount": thoughts,
            "totalTokenCount": prompt + words + thoughts,
            "cost": round((prompt - cached) * 3e-6 + cached * 3e-7 + (words + thoughts) * 1.5e-5, 6),
        }
    )


def answer(request: LlmRequest, *parts: Any, thoughts: int = 0) -> LlmResponse:
    """A whole answer with its usage."""
    made = [one if isinstance(one, Part) else Part(text=one) for one in parts]
    words = sum(len(one.text or "xxxxxxxx") // 4 for one in made)
    return LlmResponse(
        content=Content(role="model", parts=made),
        usage_metadata=usage(request, words, thoughts),
        model_version="claude-sonnet-4-5",
    )


def call(name: str, **args: Any) -> Part:
    """A call of a tool."""
    return Part(function_call=FunctionCall(name=name, args=args))


def last(request: LlmRequest) -> tuple[str, dict[str, Any]]:
    """The user's last words, and the results since then by the tool's name."""
    words, results = "", {}
    for content in request.contents:
        for part in content.parts or ():
            if part.function_response is not None:
                results[part.function_response.name] = part.function_response.response
            elif part.text and content.role == "user":
                if part.text.startswith("For context") or "said:" in part.text[:40]:
                    continue
                words, results = part.text, {}
    return words, results


def number_in(words: str) -> int:
    """The number of an order in a message; 17 if there is none."""
    found = re.search(r"\d+", words)
    return int(found[0]) if found else 17


LONG = """Here is what I can do for you:

- find an **order** by its number,
- write a *bill* with `write_bill`,
- hand over to [refunds](https://example.com/refunds).

```python
def greet(name: str) -> str:
    return f"Hello, {name}"
```

| order | item |
|---|---|
| 17 | walking boots |
| 19 | rain jacket |

> Ask whenever you like.
"""


def marked(number: int) -> str:
    """A chunk of an answer with headings, lists, code and paragraphs."""
    head = {0: "\n\n## Part\n\n", 1: "\n\n- **one** ", 2: "\n- `two` ", 3: "\n\n```python\nx = 1  # ", 4: "\n```\n\n"}
    return f"{head[number // 10 % 5] if number % 10 == 0 else ''}chunk {number} "


#: Chunks a second of the answer in Markdown.
PACE = 500


class PacedModel(ScriptedModel):
    """Streams the answer in Markdown at its pace, others at once; after a chunk that is late, the next ones hurry."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Play the next step."""
        is_paced = "markdown" in last(llm_request)[0].lower()
        began, count = time.monotonic(), 0
        async with aclosing(super().generate_content_async(llm_request, stream)) as responses:
            async for response in responses:
                if is_paced and response.partial:
                    count += 1
                    await asyncio.sleep(max(0, began + count / PACE - time.monotonic()))
                yield response


def fast(is_marked: bool) -> dict[str, Any]:
    """A long answer: at once, or in Markdown at a pace."""
    return {"chunks": [marked(n) if is_marked else f"chunk {n} " for n in range(2_000)]}


def desk(request: LlmRequest) -> Any:
    """What the support desk answers."""
    words, results = last(request)
    lower = words.lower()
    number = number_in(lower)
    if "find_order" in results:
        found = results["find_order"]
        if "money" in lower or "refund" in lower:
            said = "I am sorry about that. I hand this to our refunds desk."
            return answer(request, said, call("transfer_to_agent", agent_name="refunds"))
        if "error" in found:
            return answer(request, f"I cannot find order {number}. Which number is on the bill?")
        return answer(request, f"Your {found['item']} is {found['state']}.")
    if "write_bill" in results:
        return answer(request, f"The bill is in `{results['write_bill']['file']}`.")
    if "bill" in lower:
        return answer(request, call("write_bill", number=number))
    if "order" in lower or "money" in lower:
        thought = Part(text="The customer names an order, so I look it up first.", thought=True)
        return answer(request, thought, call("find_order", number=number), thoughts=40)
    if "fail" in lower:
        return LlmResponse(error_code="RESOURCE_EXHAUSTED", error_message="the quota of the model is used up")
    if "fast" in lower:
        return fast("markdown" in lower)
    if "slow" in lower:
        return {"chunks": [f"word {n} " for n in range(200)], "hang": True}
    return [answer(request, LONG)]


def pays(request: LlmRequest) -> Any:
    """What the refunds desk answers."""
    words, results = last(request)
    if "refund" in results:
        result = results["refund"]
        paid = "refunded_euro" in result
        return answer(request, f"You get **{result['refunded_euro']} €** back." if paid else "A colleague said no.")
    number = number_in(words)
    said = f"Order {number}, walking boots. You get the full price back as soon as a colleague agrees."
    return answer(request, said, call("refund", number=number, amount=129.0))


refunds = Agent(
    name="refunds",
    description="Pays money back (refund) for an order.",
    model=ScriptedModel([pays] * 10_000),
    instruction="You pay money back. Ask a colleague above 50 euros.",
    tools=[refund],
)
root_agent = Agent(
    name="support_desk",
    description="The front desk of a shop.",
    model=PacedModel([desk] * 10_000),
    instruction="You are the front desk of a shop.\nAsk for the number on the bill if an order is not found.",
    tools=[find_order, write_bill],
    sub_agents=[refunds],
)
