/** An event elsewhere: as a command, and its run as a test. Pure functions of what is stored. */
import { calls, isAsking, parts, responses, words } from "./log.js";

/** @typedef {{ app: string, id: string, events: any[] }} Session */

/** A text for a shell. @param {string} text */
const quoted = (text) => `'${text.replace(/'/g, `'"'"'`)}'`;

/** A command: a message of the user is said again in its session, any other event is read. @param {string} base @param {string} user @param {Session} session @param {number} index */
export function curlOf(base, user, session, index) {
  const event = session.events[index];
  const place = `/apps/${encodeURIComponent(session.app)}/users/${encodeURIComponent(user)}/sessions/${encodeURIComponent(session.id)}`;
  const token = '${NEWEL_TOKEN:+-H "Authorization: Bearer $NEWEL_TOKEN"}';
  if (event.author !== "user" || !event.content || responses(event).length) return `curl -s ${token} ${quoted(`${base}${place}/events?after=${index}&limit=1`)}`;
  const body = { appName: session.app, userId: user, sessionId: session.id, newMessage: { role: "user", parts: parts(event) } };
  return `curl -s ${token} ${quoted(`${base}/run`)} -H 'content-type: application/json' -d ${quoted(JSON.stringify(body))}`;
}

/** A value as Python writes it. @param {any} value @param {string} [indent] @returns {string} */
export function python(value, indent = "") {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const entries = Array.isArray(value) ? value.map((one) => python(one, `${indent}    `)) : Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${python(one, `${indent}    `)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const line = `${open}${entries.join(", ")}${close}`;
  if (line.length + indent.length < 100 && !line.includes("\n")) return line;
  return `${open}\n${entries.map((one) => `${indent}    ${one},\n`).join("")}${indent}${close}`;
}

/** Whether a model said it, and not the runtime in its name. @param {any} event */
const isSaid = (event) => event.author !== "user" && !event.partial && !calls(event).some((one) => isAsking(one.name)) && !responses(event).length && (event.content?.role === "model" || event.errorCode);

/** What a model said, without the ids that a run gives. @param {any} event */
function saying(event) {
  const said = parts(event).map((part) => {
    if (!part.functionCall) return part;
    const { id: _, ...call } = part.functionCall;
    return { ...part, functionCall: call };
  });
  const found = /** @type {Record<string, any>} */ (said.length ? { content: { role: "model", parts: said } } : {});
  for (const key of ["errorCode", "errorMessage", "usageMetadata", "modelVersion", "finishReason"]) if (event[key] !== undefined) found[key] = event[key];
  return found;
}

/** The messages of a run, each with what came of it. @param {any[]} events */
function exchanges(events) {
  /** @type {{ message: any, events: any[] }[]} */
  const found = [];
  for (const event of events) {
    if (event.author === "user" && event.content) found.push({ message: event, events: [] });
    else found[found.length - 1]?.events.push(event);
  }
  return found;
}

/** An answer to a question of before names it by its id; the questions of the replayed run have ids of their own. @param {{ message: any, events: any[] }} one @param {number} n */
function saidAndChecked({ message, events }, n) {
  const answered = responses(message).map((one) => one.response);
  const said = answered.length && n ? `chat.answers(${answered.map((one) => python(one, "    ")).join(", ")})` : `Content.model_validate(${python({ role: "user", parts: parts(message) }, "    ")})`;
  const called = events.flatMap(calls).filter((one) => !isAsking(one.name)).map((one) => [one.name, one.args ?? {}]);
  const last = events.filter((one) => words(one)).pop();
  return `    turn = chat.say(${said})
    assert called(turn) == ${python(called.map(([name, args]) => ({ name, args })), "    ")}
${last ? `    assert turn.text == ${JSON.stringify(parts(last).filter((one) => one.text && !one.thought).pop().text)}\n` : ""}`;
}

/** A file of a test that plays a run again: the models say what they said, the tools of the agent run. @param {Session} session @param {{ number: number, entries: { index: number, event: any }[] }} turn */
export function pytestOf(session, turn) {
  const first = turn.entries[0].index;
  const own = turn.entries.map((one) => one.event);
  /** @type {Record<string, any[]>} */
  const said = {};
  for (const event of own) if (isSaid(event)) (said[event.author] ??= []).push(saying(event));
  const name = `test_run_${turn.number}`;
  return `"""Run ${turn.number} of a session with ${session.app}, again: the models say what they said, the tools of the agent run.

Put this file next to the folder of the agent, then: pytest ${name}.py
"""

import asyncio
from pathlib import Path

from newel.files import load_source
from newel.sessions import InMemorySessionService
from newel.testing import Conversation
from newel.types import Content
from newel_compose import compose
from newel_kernel import Event, LlmResponse, hookimpl

APP = ${JSON.stringify(session.app)}
#: What the models said, agent by agent.
SAID = ${python(said)}
#: What was stored before.
BEFORE = ${python(session.events.slice(0, first))}


class Recorded:
    """Answers in place of the models."""

    name = "recorded"

    def __init__(self):
        self.left = {agent: list(answers) for agent, answers in SAID.items()}

    @hookimpl
    def before_model_callback(self, callback_context, llm_request):
        answers = self.left.get(callback_context.agent_name)
        assert answers, f"{callback_context.agent_name} asks its model once more than it did"
        return LlmResponse.model_validate(answers.pop(0))


async def stored():
    service = InMemorySessionService()
    session = await service.create_session(app_name=APP, user_id="user", session_id="session")
    for event in BEFORE:
        await service.append_event(session, Event.model_validate(event))
    return service


def called(turn):
    return [{"name": call.name, "args": call.args or {}} for call in turn.calls if not call.name.startswith("adk_request_")]


def ${name}():
    source = load_source(str(Path(__file__).parent / APP), compose("standard"))
    recorded = Recorded()
    chat = Conversation(source.app or source.agent, app_name=APP, plugins=[recorded], session_service=asyncio.run(stored()))
${exchanges(own).map(saidAndChecked).join("\n")}
    assert not any(recorded.left.values()), "the models were asked less often than they were"
`;
}
