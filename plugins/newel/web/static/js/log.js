/** What the log says: turns, model calls, tool calls and questions, from the events of a session. Pure functions. */

/** @typedef {Record<string, any>} Event */
/** @typedef {{ index: number, event: Event }} Entry */
/** @typedef {{ in: number, cached: number, written: number, out: number, reasoning: number, cost: number | null, incomplete: boolean, calls: number }} Usage */
/**
 * @typedef {object} Turn
 * @property {number} number
 * @property {string} id
 * @property {Entry[]} entries
 * @property {Usage} usage
 * @property {number} tools
 * @property {number} began
 * @property {number} ended
 */
/** @typedef {{ number: number, entry: Entry, agent: string, invocation: string }} ModelCall */

export const APPROVAL = "adk_request_confirmation";
export const INPUT = "adk_request_input";
export const CREDENTIAL = "adk_request_credential";
const ASKS = new Set([APPROVAL, INPUT, CREDENTIAL]);

/** @param {Event} event @returns {any[]} */
export const parts = (event) => event.content?.parts ?? [];
/** @param {Event} event */
export const calls = (event) => parts(event).filter((one) => one.functionCall).map((one) => one.functionCall);
/** @param {Event} event */
export const responses = (event) => parts(event).filter((one) => one.functionResponse).map((one) => one.functionResponse);
/** @param {Event} event */
export const words = (event) => parts(event).filter((one) => one.text && !one.thought).map((one) => one.text).join("");
/** @param {string} name */
export const isAsking = (name) => ASKS.has(name);

/** Whether a model wrote the event. @param {Event} event */
export function isModelCall(event) {
  if (event.author === "user" || event.partial) return false;
  return Boolean(event.usageMetadata || (event.content?.role === "model" && event.modelVersion) || event.errorCode);
}

/** @returns {Usage} */
export const noUsage = () => ({ in: 0, cached: 0, written: 0, out: 0, reasoning: 0, cost: null, incomplete: false, calls: 0 });

/** Add the tokens and the price of an event. @param {Usage} sum @param {Event} event */
export function addUsage(sum, event) {
  const usage = event.usageMetadata;
  if (isModelCall(event)) sum.calls += 1;
  if (!usage || event.partial) return sum;
  const thoughts = usage.thoughtsTokenCount ?? 0;
  sum.in += usage.promptTokenCount ?? 0;
  sum.cached += usage.cachedContentTokenCount ?? 0;
  sum.written += usage.cacheWriteTokenCount ?? usage.cache_write_token_count ?? 0;
  sum.out += (usage.candidatesTokenCount ?? 0) + thoughts;
  sum.reasoning += thoughts;
  if (typeof usage.cost === "number") sum.cost = (sum.cost ?? 0) + usage.cost;
  else sum.incomplete = true;
  return sum;
}

/** Whether model calls were made, and none of them reported a token. @param {Usage} usage */
export const isUnreported = (usage) => usage.calls > 0 && !usage.in && !usage.out;

/** The usage of some events. @param {Event[]} events */
export const usageOf = (events) => events.reduce(addUsage, noUsage());

/** The runs of a session, the oldest first; what changed only its state belongs to none. @param {Event[]} events @returns {Turn[]} */
export function turnsOf(events) {
  /** @type {Map<string, Turn>} */
  const turns = new Map();
  events.forEach((event, index) => {
    const id = event.invocationId ?? "";
    let turn = turns.get(id);
    if (!turn) {
      if (!event.content && !event.errorCode) return;
      turn = { number: turns.size + 1, id, entries: [], usage: noUsage(), tools: 0, began: event.timestamp, ended: event.timestamp };
      turns.set(id, turn);
    }
    turn.entries.push({ index, event });
    addUsage(turn.usage, event);
    turn.tools += calls(event).filter((one) => !isAsking(one.name)).length;
    turn.ended = Math.max(turn.ended, event.timestamp);
  });
  return [...turns.values()];
}

/** The model calls of a session, numbered through. @param {Event[]} events @returns {ModelCall[]} */
export function modelCallsOf(events) {
  /** @type {ModelCall[]} */
  const found = [];
  events.forEach((event, index) => {
    if (!isModelCall(event)) return;
    found.push({ number: found.length + 1, entry: { index, event }, agent: event.author, invocation: event.invocationId });
  });
  return found;
}

/** The results of calls by the calls' ids; the last one counts. @param {Event[]} events */
export function resultsOf(events) {
  /** @type {Map<string, { entry: Entry, response: any }>} */
  const found = new Map();
  events.forEach((event, index) => {
    for (const one of responses(event)) found.set(one.id, { entry: { index, event }, response: one.response });
  });
  return found;
}

/** The call with this id. @param {Event[]} events @param {string | undefined} id */
export const callWith = (events, id) => (id === undefined ? undefined : events.flatMap(calls).find((one) => one.id === id));

/** Whether a result says that its call failed. @param {any} response */
export const isFailure = (response) => Boolean(response && typeof response === "object" && response.error);

/** @param {any} response */
export function failureText(response) {
  const error = response?.error;
  return typeof error === "string" ? error : error?.message ?? JSON.stringify(error);
}

/**
 * The indices of the events that say that something failed. The first result of a call that waits for a person says
 * only that: it is none of them.
 * @param {Event[]} events
 */
export function failuresOf(events) {
  const asks = new Map(events.flatMap(calls).filter((one) => isAsking(one.name)).map((one) => [one.args?.originalFunctionCall?.id, one.id]));
  const answered = new Set(), failed = new Set();
  events.forEach((event, index) => {
    if (event.errorCode) failed.add(index);
    for (const one of responses(event)) {
      if (event.author === "user") answered.add(one.id);
      else if (isFailure(one.response) && (!asks.has(one.id) || answered.has(asks.get(one.id)))) failed.add(index);
    }
  });
  return failed;
}

/** What people think of answers: the id of an event -> "up" or "down"; the last rating counts. @param {Event[]} events @returns {Map<string, string>} */
export function ratingsOf(events) {
  const found = new Map();
  for (const event of events) {
    const note = event.customMetadata?.["newel.feedback"];
    if (note) found.set(note.event_id, note.rating);
  }
  return found;
}

/** What kind of event it is, in a word. @param {Event} event */
export function kindOf(event) {
  if (event.errorCode) return "error";
  const called = calls(event);
  if (called.some((one) => isAsking(one.name))) return "question";
  if (called.length) return "call";
  if (event.actions?.transferToAgent) return "transfer";
  if (responses(event).length) return event.author === "user" ? "answer" : "result";
  if (event.actions?.compaction) return "compaction";
  if (event.customMetadata?.["newel.feedback"]) return "feedback";
  if (parts(event).some((one) => one.inlineData || one.fileData)) return "file";
  if (words(event) || parts(event).some((one) => one.thought)) return event.author === "user" ? "message" : "text";
  if (Object.keys(event.actions?.artifactDelta ?? {}).length) return "file";
  return Object.keys(event.actions?.stateDelta ?? {}).length ? "state" : "mark";
}

/** The state after the first `count` events; `before` is what no event has written. @param {Event[]} events @param {number} count @param {Record<string, any>} [before] */
export function stateAt(events, count, before = {}) {
  const state = { ...before };
  /** @type {Record<string, number>} */
  const writer = {};
  events.slice(0, count).forEach((event, index) => {
    for (const [key, value] of Object.entries(event.actions?.stateDelta ?? {})) {
      if (value === null) delete state[key]; else state[key] = value;
      writer[key] = index;
    }
  });
  return { state, writer };
}
