/** What the page knows: signals, and the actions that change them. */
import { batch, computed, effect, signal } from "../vendor/preact.js";
import { first, held } from "./held.js";
import { ApiError, frames, get, send } from "./api.js";
import { modelCallsOf, ratingsOf, resultsOf, turnsOf, usageOf } from "./log.js";
import { chosen, go, route, toSession, user, USER } from "./route.js";

/** @param {string} key @param {string} otherwise */
const kept = (key, otherwise) => { try { return localStorage.getItem(`newel.${key}`) ?? otherwise; } catch { return otherwise; } };
/** @param {string} key @param {string} value */
export const keep = (key, value) => { try { localStorage.setItem(`newel.${key}`, value); } catch { /* storage is off */ } };

export { user };
export const theme = signal(document.documentElement.dataset.theme ?? "light");
export const singleKeys = signal(kept("keys", "on") === "on");
export const hidesTalk = signal(false);
export const drawer = signal(false);

export const apps = signal(/** @type {{ apps: any[], failed: any[], stored?: { place: string, artifacts: boolean, held?: boolean, note?: string | null } | null } | null} */ (null));
/** Where the stored sessions come from that are only shown; else agents are served. */
export const stored = computed(() => apps.value?.stored ?? null);
/** Who has sessions, of which app; asked only for stored sessions. */
export const owners = signal(/** @type {any[]} */ ([]));
export const connection = signal(/** @type {"live" | "lost"} */ ("live"));
export const problem = signal(/** @type {any} */ (null));
export const summaries = signal(/** @type {{ total: number, sessions: any[] } | null} */ (null));
export const questions = signal(/** @type {any[]} */ ([]));

export const app = computed(() => {
  const names = apps.value ? [...apps.value.apps, ...apps.value.failed].map((one) => one.name) : null;
  return route.value.app || (!names || names.includes(lastApp.value) ? lastApp.value : "") || names?.[0] || "";
});
const lastApp = signal(kept("app", ""));

/** The open session: its events so far, and what streams. The first `unread` events are not fetched yet: `UNREAD` stands for them. */
export const session = signal(/** @type {{ id: string, app: string, user: string, state: Record<string, any>, events: any[], unread: number } | null} */ (null));
export const missing = signal(/** @type {any} */ (null));
export const events = computed(() => session.value?.events ?? []);
export const unread = computed(() => session.value?.unread ?? 0);
export const turns = computed(() => turnsOf(events.value));
export const modelCalls = computed(() => modelCallsOf(events.value));
export const results = computed(() => resultsOf(events.value));
export const ratings = computed(() => ratingsOf(events.value));
export const usage = computed(() => usageOf(events.value));
export const spans = signal(/** @type {any[]} */ ([]));
export const explained = signal(/** @type {any[]} */ ([]));
/** Author -> the text that streams. */
export const streaming = signal(/** @type {Record<string, { text: string, thought: string }>} */ ({}));
export const runs = signal(/** @type {{ id: string, invocationId: string | null }[]} */ ([]));
export const running = computed(() => runs.value.length > 0);
export const sendError = signal(/** @type {any} */ (null));
/** The message that is written again: what was said before it stays, in a session of its own. */
export const editing = signal(/** @type {number | null} */ (null));
/** What is marked in the conversation and in the panel: the index of an event. */
export const selection = signal(/** @type {number | null} */ (null));

const here = () => ({ app_name: session.value?.app ?? app.value, user_id: session.value?.user ?? user.value, session_id: session.value?.id ?? "" });

/** @param {Promise<any>} promise */
async function noted(promise) {
  try {
    const value = await promise;
    batch(() => { connection.value = "live"; problem.value = null; });
    return value;
  } catch (error) {
    if (/** @type {any} */ (error).status === 0) connection.value = "lost";
    problem.value = error;
    return null;
  }
}

export async function loadApps() {
  const found = await noted(get("list_apps", {}, { query: { detailed: "true" } }));
  if (found) {
    if (found.stored) await loadOwners();
    apps.value = found;
  }
}

/** Whose sessions are stored. Without a user in the address, those that were changed last are shown. */
export async function loadOwners() {
  const found = await noted(get("list_session_owners", {}));
  if (!found) return;
  owners.value = found;
  const own = found.filter((/** @type {any} */ one) => one.appName === (route.value.app || lastApp.value));
  const latest = [...(own.length ? own : found)].sort((a, b) => b.lastUpdateTime - a.lastUpdateTime)[0];
  batch(() => { chosen.value = latest?.userId ?? USER; if (!own.length && latest) lastApp.value = latest.appName; });
}

export async function loadSummaries() {
  if (!app.value) return;
  const found = await noted(get("list_session_summaries", { app_name: app.value, user_id: user.value }, { query: { limit: 20 } }));
  if (found) summaries.value = found;
}

export async function loadQuestions() {
  if (!app.value) return;
  const found = await noted(get("list_user_questions", { app_name: app.value, user_id: user.value }));
  if (found) questions.value = found;
}

/** @param {string} name @param {string} id */
export async function openSession(name, id) {
  const owner = user.value;
  if (session.value?.id === id && session.value.app === name && session.value.user === owner) return;
  const isAsked = () => route.value.session === id && user.value === owner;
  recorded.clear();
  batch(() => { session.value = null; missing.value = null; spans.value = []; explained.value = []; known.value = new Set(); streaming.value = {}; runs.value = []; selection.value = null; editing.value = null; sendError.value = null; });
  try {
    const page = await get("list_events", { app_name: name, user_id: owner, session_id: id }, { query: { last: FIRST_PAGE } });
    if (!isAsked()) return;
    session.value = { id, app: name, user: owner, state: page.state, events: [...Array(page.after).fill(UNREAD), ...page.events], unread: page.after };
  } catch (error) { if (isAsked()) missing.value = error; }
  refreshSoon();
  readEarlier();
}

/** What stands for an event that is not fetched yet. */
const UNREAD = Object.freeze({});
/** How many events a session opens with, and how many each request for earlier ones brings. */
const FIRST_PAGE = 200, PAGE = 2000;
/** The milliseconds between two drawings of a session whose earlier events arrive. */
const DRAWN_EACH = 500;
/** The session whose earlier events are being fetched. */
let reading = "";

/** Once the page has nothing else to do. */
const idle = () => new Promise((done) => { if ("requestIdleCallback" in globalThis) requestIdleCallback(done, { timeout: 500 }); else setTimeout(done, 50); });

/** Fetch the events before those that are here, the latest first. */
async function readEarlier() {
  const at = session.value;
  if (!at?.unread || reading === at.id) return;
  reading = at.id;
  while (await readPages(at.id)) ;
  if (reading === at.id) reading = "";
}

/** Fetch pages until they are worth a drawing. Whether more are to come; after a failure, the next beat asks again. @param {string} id */
async function readPages(id) {
  const began = performance.now(), end = unread.value, place = here();
  let first = end, found = /** @type {any[]} */ ([]);
  do {
    await idle();
    const after = Math.max(0, first - PAGE);
    const page = await noted(get("list_events", place, { query: { after, limit: first - after } }));
    if (page?.events.length !== first - after) return false;
    found = [...page.events, ...found];
    first = after;
  } while (first > 0 && performance.now() - began < DRAWN_EACH);
  const at = session.value;
  if (at?.id !== id || at.unread !== end) return false; // another one was opened
  session.value = { ...at, events: [...at.events.slice(0, first), ...found, ...at.events.slice(end)], unread: first };
  return first > 0;
}

/** Fetch what was stored since, whoever stored it. */
export async function catchUp() {
  const at = session.value;
  if (!at) return;
  const place = here();
  const [page, left] = await Promise.all([
    noted(get("list_events", place, { query: { after: at.events.length } })),
    noted(get("list_runs", place)),
  ]);
  if (session.value?.id !== at.id) return;
  const active = left?.filter((/** @type {any} */ one) => one.status !== "paused");
  if (active && JSON.stringify(active) !== JSON.stringify(runs.value)) { runs.value = active; refreshSoon(); }
  if (page?.events.length) add(page.events, page.after, page.state);
  else if (page && JSON.stringify(page.state) !== JSON.stringify(at.state)) session.value = { ...session.value, state: page.state };
}

/** Add stored events, each once. @param {any[]} added @param {number} from @param {Record<string, any>} [state] */
function add(added, from, state) {
  const at = session.value;
  if (!at) return;
  const fresh = added.slice(Math.max(0, at.events.length - from));
  if (!fresh.length || from > at.events.length) return;
  batch(() => {
    session.value = { ...at, events: [...at.events, ...fresh], state: state ?? at.state };
    const authors = new Set(fresh.map((one) => one.author));
    streaming.value = Object.fromEntries(Object.entries(streaming.value).filter(([name]) => !authors.has(name)));
  });
  refreshSoon();
}

/** The invocations whose recordings are here or on their way, the last one asked for last; each holds whole requests. */
const recorded = /** @type {Set<string>} */ (new Set());
const MOST_RECORDED = 3;

/** Have the recordings of these invocations fetched. Whether they are here. @param {...(string | undefined)} invocations */
export function hasRecordings(...invocations) {
  const wanted = invocations.filter((one) => one !== undefined);
  const missing = wanted.filter((one) => !recorded.has(one));
  const place = here();
  for (const one of wanted) { recorded.delete(one); recorded.add(one); }
  for (const one of missing) fetchRecordings(place, one);
  return wanted.every((one) => known.value.has(one));
}
const known = signal(/** @type {Set<string>} */ (new Set()));

/** @param {any} place @param {string} invocation */
async function fetchRecordings(place, invocation) {
  const found = await noted(get("list_model_calls", place, { query: { invocation_id: invocation } })) ?? [];
  if (session.value?.id !== place.session_id || !recorded.has(invocation)) return;
  const gone = [...recorded].slice(0, -MOST_RECORDED);
  for (const one of gone) recorded.delete(one);
  batch(() => {
    explained.value = [...explained.value.filter((one) => one.invocation_id !== invocation && recorded.has(one.invocation_id)), ...found];
    known.value = new Set([...known.value, invocation].filter((one) => recorded.has(one)));
  });
}

/** Fetch again what the last run may have added to. @param {any} place */
async function again(place) {
  const last = turns.value[turns.value.length - 1]?.id;
  if (last !== undefined && recorded.has(last)) await fetchRecordings(place, last);
}

let timer = 0;
/** Fetch what hangs on the events, once they are quiet. */
function refreshSoon() {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    const at = session.value;
    if (at) await loadSpans(at.id);
    loadSummaries();
    loadQuestions();
  }, 150);
}

/** @param {string} id */
async function loadSpans(id) {
  const place = here();
  const [traced] = await Promise.all([
    noted(get("trace_of_session", place, { query: { user_id: user.value, texts: "false" } })),
    again(place),
  ]);
  if (traced && session.value?.id === id) spans.value = traced;
}

/** Chunks of a stream, gathered for a frame of the screen. */
let gathered = /** @type {any[]} */ ([]);
/** @param {any} event */
function gather(event) {
  gathered.push(event);
  if (gathered.length > 1) return;
  requestAnimationFrame(() => {
    const next = { ...streaming.value };
    for (const one of gathered) {
      const so = next[one.author] ?? { text: "", thought: "" };
      next[one.author] = { ...so };
      for (const part of one.content?.parts ?? []) if (part.text) next[one.author][part.thought ? "thought" : "text"] += part.text;
    }
    gathered = [];
    streaming.value = next;
  });
}

/** A session of its own for the first message. @returns {Promise<string | null>} */
export async function newSession() {
  if (!app.value) await loadApps(); // somebody writes faster than the list of agents comes
  if (!app.value) return null;
  const made = await noted(get("create_session", { app_name: app.value, user_id: user.value }, { body: {} }));
  if (!made) return null;
  go(toSession(app.value, made.id));
  await openSession(app.value, made.id);
  return made.id;
}

/** Say something: a message for a new run, or to the agent at work. @param {any[]} parts */
export async function say(parts) {
  sendError.value = null;
  if (editing.value !== null) {
    if (!(await fork(editing.value))) return false;
    editing.value = null;
  }
  if (!session.value && !(await newSession())) return false;
  const at = /** @type {NonNullable<typeof session.value>} */ (session.value);
  const newMessage = { role: "user", parts };
  try {
    if (running.value) {
      await send("steer", here(), { body: { newMessage, streaming: true } });
      await catchUp();
      return true;
    }
    const body = { appName: at.app, userId: user.value, sessionId: at.id, newMessage, streaming: true, onDisconnect: "detach" };
    follow(await send("run_sse", {}, { body }));
    await catchUp();
    return true;
  } catch (error) { sendError.value = error; return false; }
}

/** Read a run to its end. @param {Response} response */
async function follow(response) {
  const id = session.value?.id;
  try {
    await frames(response, (event) => {
      if (session.value?.id !== id) return;
      if (event.error) sendError.value = new ApiError(500, "The run failed.", typeof event.error === "string" ? event.error : event.error.message ?? "");
      else if (event.partial) gather(event);
      else catchUpSoon();
    });
  } catch (error) { sendError.value = error; }
  if (session.value?.id === id) {
    await catchUp();
    streaming.value = {};
  }
}

/** An event of a live run. @param {any} event @param {string} id */
export function hear(event, id) {
  if (session.value?.id !== id) return;
  if (event.partial) gather(event);
  else catchUpSoon();
}

let soon = 0;
function catchUpSoon() {
  clearTimeout(soon);
  soon = setTimeout(catchUp, 10);
}

/** Answer a question; says what is wrong with the answer. @param {any} question @param {unknown} answer */
export async function answer(question, answer) {
  const place = { app_name: app.value, user_id: user.value, session_id: question.sessionId, question_id: question.id };
  try {
    const response = await send("answer_question", place, { body: { answer, follow: true, streaming: true } });
    if (session.value?.id === question.sessionId) follow(response);
    else response.body?.cancel();
    await Promise.all([catchUp(), loadQuestions()]);
    return null;
  } catch (error) {
    await Promise.all([catchUp(), loadQuestions()]);
    return error;
  }
}

/** Cancel every run of the session, each once. */
export async function stop() {
  const own = runs.value;
  runs.value = [];
  const place = here();
  for (const one of own) await send("cancel_run", { ...place, run_id: one.id }).catch(() => null); // it may have ended by itself
  await catchUp();
}

/** @param {Record<string, any>} delta */
export async function changeState(delta) {
  const changed = await noted(get("update_session", here(), { body: { stateDelta: delta } }));
  if (changed) await catchUp();
  return Boolean(changed);
}

/** Say what one thinks of an answer; the same again takes it back. @param {string} event @param {"up" | "down"} rating */
export async function rate(event, rating) {
  const same = ratings.value.get(event) === rating;
  await noted(send("rate_event", { ...here(), event_id: event }, { body: { rating: same ? null : rating } }));
  await catchUp();
}

/** A new session with the first events of this one, their state and their files. @param {number} count */
export const fork = (count) => forkWith(count);

/** The same, with an event after them; its id. @param {number} count @param {any} [event] @returns {Promise<string | null>} */
export async function forkWith(count, event) {
  const at = session.value;
  if (!at) return null;
  const title = { displayName: `Fork of “${titleOf(at)}”` };
  const body = { forkOf: { sessionId: at.id, events: count }, state: { __session_metadata__: title }, events: event ? [event] : [] };
  const made = await noted(get("create_session", { app_name: at.app, user_id: user.value }, { body }));
  if (!made) return null;
  go(toSession(at.app, made.id));
  await openSession(at.app, made.id);
  return made.id;
}

/** Give the session another title: an event, as each change of the state. @param {string} title */
export const rename = (title) => changeState({ __session_metadata__: { ...session.value?.state.__session_metadata__, displayName: title } });

/** Take in an exported session; throws what is wrong with it. @param {string} text */
export async function importSession(text) {
  let body;
  try { body = JSON.parse(text); } catch (error) { throw new ApiError(422, "This is not JSON.", /** @type {any} */ (error).message); }
  const made = await get("import_session", { app_name: app.value, user_id: user.value }, { body });
  await loadSummaries();
  return made;
}

/** @param {{ events: any[], state: Record<string, any>, unread?: number } | null} one */
export function titleOf(one) {
  const named = one?.state?.__session_metadata__?.displayName;
  if (named) return named;
  if (one?.unread) return "…"; // the first message is not fetched yet
  for (const event of one?.events ?? []) {
    if (event.author !== "user") continue;
    const text = (event.content?.parts ?? []).map((/** @type {any} */ part) => part.text ?? "").join(" ").trim();
    if (text) return text.replace(/\s+/g, " ").slice(0, 120);
  }
  return "New session";
}

/** @param {string} id */
export async function deleteSession(id) {
  const place = { app_name: app.value, user_id: user.value, session_id: id };
  const whole = await noted(get("get_session", place));
  if (!whole || (await noted(send("delete_session", place))) === null) return null;
  await loadSummaries();
  return whole;
}

/** Put a deleted session back. @param {any} whole */
export async function restoreSession(whole) {
  const place = { app_name: whole.appName, user_id: whole.userId, session_id: whole.id };
  const shared = Object.fromEntries(Object.entries(whole.state).filter(([key]) => !/^(app|user|temp):/.test(key)));
  await noted(send("create_session", place, { body: { state: shared, events: whole.events, sessionId: whole.id } }));
  await loadSummaries();
}

/** Begin: what never ends while the page is open. */
export function begin() {
  if (held && !route.value.session) go(first(), true);
  loadApps();
  // A session that is opened comes first: with it, the lists are fetched.
  effect(() => { if (app.value && user.value && !(route.value.view === "session" && route.value.session)) { loadSummaries(); loadQuestions(); } });
  effect(() => {
    const at = route.value;
    if (at.view === "session" && at.app) { lastApp.value = at.app; keep("app", at.app); }
    if (at.view === "session" && at.session) openSession(at.app, at.session);
    else if (at.view === "session" || at.view === "home") batch(() => { session.value = null; missing.value = null; runs.value = []; streaming.value = {}; });
  });
  if (held) return;
  let beat = 0;
  setInterval(() => {
    if (document.hidden) return;
    beat += 1;
    if (session.value) catchUp();
    if (unread.value) readEarlier();
    if (stored.value && beat % 5 === 0) loadOwners();
    if (!apps.value || connection.value === "lost") loadApps();
    if (route.value.view === "questions" || beat % 5 === 0) loadQuestions();
    if (beat % 5 === 0) loadSummaries();
  }, 1000);
}
