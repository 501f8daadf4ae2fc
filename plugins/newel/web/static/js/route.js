/** The address: a hash that every view has, and that survives a reload. */
import { computed, signal } from "../vendor/preact.js";

/**
 * @typedef {object} Route
 * @property {"home" | "session" | "sessions" | "questions" | "evaluation" | "composition" | "keys"} view
 * @property {string} app
 * @property {string} user  Whose session it is; empty: the page's own user.
 * @property {string} session
 * @property {string} panel
 * @property {string[]} rest
 * @property {URLSearchParams} query
 */

const OVER_ALL = ["sessions", "questions", "evaluation", "composition", "keys"];

/** @param {string} hash @returns {Route} */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const raw = path.split("/").filter(Boolean);
  // An @ of a name is escaped in an address, so that the plain one stands before the user.
  const [first = "", owner = ""] = (raw[0] ?? "").split("@", 2).map(decoded);
  const parts = [first, ...raw.slice(1).map(decoded)].filter(Boolean);
  const values = new URLSearchParams(query);
  const route = { app: "", user: values.get("user") ?? "", session: "", panel: "", rest: /** @type {string[]} */ ([]), query: values };
  if (!parts.length) return { ...route, view: "home" };
  if (OVER_ALL.includes(parts[0])) {
    return { ...route, view: /** @type {Route["view"]} */ (parts[0]), rest: parts.slice(1) };
  }
  const [app, session = "", panel = "", ...rest] = parts;
  return { ...route, view: "session", app: app.replace(/^~/, ""), user: owner, session, panel, rest };
}

/** @param {string} text */
function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

export const route = signal(parse(location.hash));

/** Who uses the page unless the address names somebody. */
export const USER = "user";
/** Whose sessions are shown: of whom the address tells; `chosen` if it tells of nobody. */
export const chosen = signal(USER);
export const user = computed(() => route.value.user || chosen.value);

const path = (/** @type {(string | number)[]} */ parts) => parts.map((one) => encodeURIComponent(one)).join("/");

/** The hash of a view over all sessions. @param {...(string | number)} parts */
export const to = (...parts) => `#/${path(parts)}${user.value === USER ? "" : `?user=${encodeURIComponent(user.value)}`}`;

/** The hash of a session. An agent that is called like a view gets a mark. @param {string} app @param {string} [session] @param {...(string | number)} rest */
export const toSession = (app, session = "", ...rest) => {
  const owner = user.value === USER ? "" : `@${encodeURIComponent(user.value)}`;
  return `#/${path([OVER_ALL.includes(app) ? `~${app}` : app])}${owner}/${path([session, ...rest])}`;
};
addEventListener("hashchange", () => { route.value = parse(location.hash); });

/** Go to a place; typing and filters replace the address. @param {string} hash @param {boolean} [replace] */
export function go(hash, replace = false) {
  if (hash === location.hash) return;
  if (replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  route.value = parse(hash);
}
addEventListener("popstate", () => { route.value = parse(location.hash); });

/** Change one value of the query. @param {string} name @param {string} value */
export function ask(name, value) {
  const [path, query = ""] = (location.hash || "#/").split("?", 2);
  const values = new URLSearchParams(query);
  if (value) values.set(name, value); else values.delete(name);
  go(values.size ? `${path}?${values}` : path, true);
}
