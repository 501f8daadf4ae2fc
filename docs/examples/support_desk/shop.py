"""The shop's books, and the tools that read and change them: the same for everybody, without a network."""

from __future__ import annotations

from typing import Any

from newel import Context, tool

#: Above this, in euros, a person decides.
LIMIT = 50.0

_ORDERS: dict[int, dict[str, Any]] = {
    17: {"item": "walking boots", "price_euro": 129.0, "state": "delivered"},
    18: {"item": "woollen socks", "price_euro": 12.5, "state": "delivered"},
    19: {"item": "rain jacket", "price_euro": 89.0, "state": "on its way, here on Friday"},
}


def find_order(number: int) -> dict[str, object]:
    """Find an order by its number.

    Args:
        number: The number of the order.
    """
    order = _ORDERS.get(number)
    if order is None:
        return {"error": f"there is no order {number}; ask the customer for the number on the bill"}
    return {"number": number, **order}


def needs_approval(number: int, amount: float, **_: object) -> bool:
    """Whether a person must agree: above the limit, and where the books disagree."""
    order = _ORDERS.get(number)
    return order is None or amount > LIMIT or amount > order["price_euro"]


@tool(require_confirmation=needs_approval, effect="at_most_once")
def refund(number: int, amount: float, tool_context: Context) -> dict[str, object]:
    """Pay money back for an order.

    Args:
        number: The number of the order.
        amount: How much, in euros.
    """
    paid = dict(tool_context.state.get("user:refunds", {}))
    if str(number) in paid:
        return {"error": f"order {number} was refunded already, {paid[str(number)]} euros"}
    tool_context.state["user:refunds"] = {**paid, str(number): amount}
    return {"refunded_euro": amount, "order": number, "receipt": f"R-{tool_context.function_call_id}"}


async def remember(callback_context: Context) -> None:
    """Put the session into the memory after each turn."""
    if callback_context.get_invocation_context().memory_service is not None:
        await callback_context.add_session_to_memory()
