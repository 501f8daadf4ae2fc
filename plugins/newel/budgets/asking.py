"""Asking: at a limit that says so a person is asked before the model is, and the answer raises the limit."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from newel.budgets.errors import exceeded
from newel.budgets.ledger import Claim, Verdict
from newel.budgets.payer import Payer, note_caller, payer_for
from newel.contexts.call_ids import new_call_id
from newel.contexts.invocation_context import full_invocation
from newel.contexts.limits import Limit, Unit, account_id, most_amount, stored_amount
from newel.questions.precedence import TAKEN_UP, first_answer, is_acted_on
from newel.questions.question import Kind, Question, find_question, unanswered
from newel.questions.requests import input_request, request_event
from newel.questions.values import answer_value
from newel_kernel import Event, InvocationContext, Log, seam

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Iterator

    from newel_kernel import LlmRequest
    from newel_types import FunctionCall

#: In the payload of a question: the account that it is about.
ACCOUNT = "budget"
_UNITS = {"money": "dollars"}
#: How long calls under way are waited for, and how often one looks, in seconds.
_LONGEST_WAIT, _FIRST_PAUSE, _LONGEST_PAUSE = 600.0, 0.01, 0.25


def note_and_ask(ctx: InvocationContext, request: LlmRequest) -> Awaitable[Sequence[Event] | None] | None:
    """Note in a request whose it is, and ask a person first if an account has nothing left that wants that."""
    note_caller(ctx, request)
    payer = payer_for(ctx)
    return _asked(ctx, payer) if any(limit.at_limit == "ask" for limit in payer.limits) else None


class _UsedUp(NamedTuple):
    """A limit whose account has nothing left."""

    limit: Limit
    verdict: Verdict
    account: str
    unit: Unit


async def _asked(ctx: InvocationContext, payer: Payer) -> Sequence[Event] | None:
    log = Log(ctx.session.events)
    notes = [note async for note in _taken_up(ctx, payer, log)]
    used_up = await _used_up(payer)
    if not used_up:
        return notes
    ctx.end_invocation = True
    waiting = {_about(question) for question in unanswered(log) if question.is_of(ctx)}
    requests = [_request(one) for one in used_up if (one.account, one.unit) not in waiting]
    return [*notes, request_event(ctx, requests)] if requests else notes


async def _taken_up(ctx: InvocationContext, payer: Payer, log: Log) -> AsyncIterator[Event]:
    """Raise limits as the user's answers of this invocation say; the notes that this was done."""
    for question, value in _answers(ctx, log):
        account, unit = cast("tuple[str, Unit]", _about(question))
        amount = stored_amount(unit, cast("float", value))
        if amount <= 0:
            used_up = next((one for one in await _used_up(payer) if (one.account, one.unit) == (account, unit)), None)
            if used_up is not None:
                raise exceeded(used_up.limit, used_up.verdict, seam.clock())
        await payer.ledger.raise_limit(account, unit, amount, once=question.id)
        yield Event(
            invocation_id=ctx.invocation_id,
            author=ctx.agent.name,
            branch=ctx.branch,
            isolation_scope=ctx.isolation_scope,
            custom_metadata={TAKEN_UP: [question.id]},
        )


def _answers(ctx: InvocationContext, log: Log) -> Iterator[tuple[Question, object]]:
    """The answers to this agent's questions about budgets that no run has acted on, each the first one."""
    for event in full_invocation(ctx).get_events(current_invocation=True):
        for response in event.get_function_responses() if event.author == "user" else ():
            place = find_question(log, response.id)
            if place is None or _about(place[1]) is None or not place[1].is_of(ctx):
                continue
            first = first_answer(log, *place)
            if first is not None and first.id == event.id and not is_acted_on(log, first, place[1]):
                yield place[1], answer_value(place[1].id, response.response or {}, place[1].schema)


async def _used_up(payer: Payer) -> list[_UsedUp]:
    """The limits at which a person is asked, and that have nothing left, once it is known what calls under way cost."""
    end, pause = seam.monotonic() + _LONGEST_WAIT, _FIRST_PAUSE
    while True:
        found, is_open = await _looked(payer)
        if not is_open or seam.monotonic() >= end:
            return found
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)


async def _looked(payer: Payer) -> tuple[list[_UsedUp], bool]:
    """The limits that have nothing left, and whether calls under way may use up another."""
    now, is_open = seam.clock(), False
    limits = [(account_id(limit, payer.owner, now), limit) for limit in payer.limits if limit.at_limit == "ask"]
    accounts = await payer.ledger.accounts({name for name, _ in limits})
    shown = {(account.id, account.unit): account for account in accounts}
    found = []
    for name, limit in limits:
        for unit, most in limit.amounts():
            if (account := shown.get((name, unit))) is None:
                continue
            if account.spent >= most + account.raised:
                verdict = Verdict("refused", Claim(name, unit, most, 0), account.spent, account.raised)
                found.append(_UsedUp(limit, verdict, name, unit))
            elif account.held and account.spent + account.held >= most + account.raised:
                is_open = True
    return found, is_open


def _request(used_up: _UsedUp) -> FunctionCall:
    error = exceeded(used_up.limit, used_up.verdict, seam.clock())
    unit = _UNITS.get(used_up.unit, used_up.unit)
    message = f"{error.reason}. By how many {unit} may it be raised? 0 ends the run."
    details = {**error.details, ACCOUNT: used_up.account}
    schema = {"type": "number", "minimum": 0, "maximum": most_amount(used_up.unit)}
    return input_request(new_call_id(), message, details, schema)


def _about(question: Question) -> tuple[str, str] | None:
    """The account and the unit that a question is about; None: it is about something else."""
    payload = question.payload if question.kind is Kind.INPUT else None
    if not isinstance(payload, Mapping) or ACCOUNT not in payload:
        return None
    return str(payload[ACCOUNT]), str(payload.get("unit"))
