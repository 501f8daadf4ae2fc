/** The address: a hash that every view has, and that survives a reload. */
import { signal } from "../vendor/preact.js";

/**
 * @typedef {object} Route
 * @property {"home" | "session" | "sessions" | "questions" | "evaluation" | "composition"} view
 * @property {string} app
 * @property {string} session
 * @property {string} panel
 * @property {string[]} rest
 * @property {URLSearchParams} query
 */

const OVER_ALL = ["sessions", "questions", "evaluation", "composition"];

/** @param {string} hash @returns {Route} */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").filter(Boolean).map(decoded);
  const route = { app: "", session: "", panel: "", rest: /** @type {string[]} */ ([]), query: new URLSearchParams(query) };
  if (!parts.length) return { ...route, view: "home" };
  if (OVER_ALL.includes(parts[0])) {
    return { ...route, view: /** @type {Route["view"]} */ (parts[0]), rest: parts.slice(1) };
  }
  const [app, session = "", panel = "", ...rest] = parts;
  return { ...route, view: "session", app: app.replace(/^~/, ""), session, panel, rest };
}

/** @param {string} text */
function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

/** The hash of a place. An agent that is called like a view gets a mark. @param {...(string | number)} parts */
export const to = (...parts) => `#/${parts.map((one) => encodeURIComponent(one)).join("/")}`;

/** @param {string} app @param {string} [session] @param {...(string | number)} rest */
export const toSession = (app, session = "", ...rest) => to(OVER_ALL.includes(app) ? `~${app}` : app, session, ...rest);

export const route = signal(parse(location.hash));
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
