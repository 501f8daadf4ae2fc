/** What the page knows: signals, and the actions that change them. */
import { batch, computed, effect, signal } from "../vendor/preact.js";
import { ApiError, frames, get, send } from "./api.js";
import { modelCallsOf, resultsOf, turnsOf, usageOf } from "./log.js";
import { go, route, toSession } from "./route.js";

/** @param {string} key @param {string} otherwise */
const kept = (key, otherwise) => { try { return localStorage.getItem(`newel.${key}`) ?? otherwise; } catch { return otherwise; } };
/** @param {string} key @param {string} value */
export const keep = (key, value) => { try { localStorage.setItem(`newel.${key}`, value); } catch { /* storage is off */ } };

export const user = signal(kept("user", "user"));
export const theme = signal(document.documentElement.dataset.theme ?? "light");
export const singleKeys = signal(kept("keys", "on") === "on");
export const hidesTalk = signal(false);
export const drawer = signal(false);

export const apps = signal(/** @type {{ apps: any[], failed: any[] } | null} */ (null));
export const connection = signal(/** @type {"live" | "lost"} */ ("live"));
export const problem = signal(/** @type {any} */ (null));
export const summaries = signal(/** @type {{ total: number, sessions: any[] } | null} */ (null));
export const questions = signal(/** @type {any[]} */ ([]));

export const app = computed(() => route.value.app || lastApp.value || apps.value?.apps[0]?.name || "");
const lastApp = signal(kept("app", ""));

/** The open session: its events so far, and what streams. */
export const session = signal(/** @type {{ id: string, app: string, state: Record<string, any>, events: any[] } | null} */ (null));
export const missing = signal(/** @type {any} */ (null));
export const events = computed(() => session.value?.events ?? []);
export const turns = computed(() => turnsOf(events.value));
export const modelCalls = computed(() => modelCallsOf(events.value));
export const results = computed(() => resultsOf(events.value));
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

const here = () => ({ app_name: session.value?.app ?? app.value, user_id: user.value, session_id: session.value?.id ?? "" });

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
  if (found) apps.value = found;
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
  if (session.value?.id === id && session.value.app === name) return;
  batch(() => { session.value = null; missing.value = null; spans.value = []; explained.value = []; streaming.value = {}; runs.value = []; selection.value = null; editing.value = null; sendError.value = null; });
  try {
    const found = await get("get_session", { app_name: name, user_id: user.value, session_id: id });
    if (route.value.session !== id) return;
    session.value = { id, app: name, state: found.state, events: found.events };
    lastApp.value = name;
    keep("app", name);
    refreshSoon();
  } catch (error) { missing.value = error; }
}

/** Fetch what was stored since, whoever stored it. */
export async function catchUp() {
  const at = session.value;
  if (!at) return;
  const place = here();
  const [page, active] = await Promise.all([
    noted(get("list_events", place, { query: { after: at.events.length } })),
    noted(get("list_runs", place)),
  ]);
  if (session.value?.id !== at.id) return;
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

let timer = 0;
/** Fetch what hangs on the events, once they are quiet. */
function refreshSoon() {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    const at = session.value;
    if (!at) return;
    const place = here();
    const [traced, calls] = await Promise.all([
      noted(get("trace_of_session", place, { query: { user_id: user.value } })),
      noted(get("list_model_calls", place)),
    ]);
    if (session.value?.id !== at.id) return;
    batch(() => { if (traced) spans.value = traced; if (calls) explained.value = calls; });
    loadSummaries();
    loadQuestions();
  }, 150);
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

/** A new session with the first events of this one. @param {number} count */
export async function fork(count) {
  const at = session.value;
  if (!at) return false;
  const own = at.events.slice(0, count);
  const title = { displayName: `Fork of “${titleOf(at)}”` };
  const body = { state: { __session_metadata__: title }, events: own };
  const made = await noted(get("create_session", { app_name: at.app, user_id: user.value }, { body }));
  if (!made) return false;
  go(toSession(at.app, made.id));
  await openSession(at.app, made.id);
  return true;
}

/** @param {{ events: any[], state: Record<string, any> } | null} one */
export function titleOf(one) {
  const named = one?.state?.__session_metadata__?.displayName;
  if (named) return named;
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
  await noted(send("create_session", place, { body: { state: whole.events.length ? {} : shared, events: whole.events, sessionId: whole.id } }));
  await loadSummaries();
}

/** Begin: what never ends while the page is open. */
export function begin() {
  loadApps();
  effect(() => { if (app.value && user.value) { loadSummaries(); loadQuestions(); } });
  effect(() => {
    const at = route.value;
    if (at.view === "session" && at.session) openSession(at.app, at.session);
    else if (at.view === "session" || at.view === "home") batch(() => { session.value = null; missing.value = null; runs.value = []; streaming.value = {}; });
  });
  let beat = 0;
  setInterval(() => {
    if (document.hidden) return;
    beat += 1;
    if (session.value) catchUp();
    if (!apps.value || connection.value === "lost") loadApps();
    if (route.value.view === "questions" || beat % 5 === 0) loadQuestions();
    if (beat % 5 === 0) loadSummaries();
  }, 1000);
}
