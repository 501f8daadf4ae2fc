/** The client of the API: one function a request. Paths come from the table of routes, so that names cannot drift. */
import { answerOf, held } from "./held.js";
import { ROUTES } from "./routes.js";

/** Where the API is: the page may be mounted under a prefix. */
export const BASE = new URL("..", document.baseURI).pathname.replace(/\/$/, "");

/** An answer that is not a success, in words. */
export class ApiError extends Error {
  /** @param {number} status @param {string} title @param {string} message */
  constructor(status, title, message) {
    super(message);
    this.status = status;
    this.title = title;
  }
}

/** @param {keyof typeof ROUTES} name @param {Record<string, string | number>} values @param {Record<string, string | number>} [query] */
export function url(name, values, query) {
  const path = ROUTES[name].path.replace(/\{(\w+)(:path)?\}/g, (_, key) => encodeURIComponent(values[key]));
  const asked = query ? `?${new URLSearchParams(/** @type {any} */ (query))}` : "";
  return `${BASE}${path}${asked}`;
}

/**
 * @param {keyof typeof ROUTES} name @param {Record<string, any>} values
 * @param {{ body?: unknown, query?: Record<string, string | number>, signal?: AbortSignal, headers?: Record<string, string> }} [options]
 */
export async function send(name, values, { body, query, signal, headers } = {}) {
  if (held) {
    const answer = answerOf(name, values, query);
    if (answer === undefined) throw new ApiError(404, "It is not there.", "This page holds one session, and asks no server.");
    return new Response(JSON.stringify(answer));
  }
  const wanted = { method: ROUTES[name].method, headers: { ...headers }, signal, body: /** @type {string | undefined} */ (undefined) };
  if (body !== undefined) {
    wanted.headers["content-type"] = "application/json";
    wanted.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(url(name, values, query), wanted);
  } catch (error) {
    if (/** @type {any} */ (error).name === "AbortError") throw error;
    throw new ApiError(0, "The server is not reached.", "It may have ended: look at the terminal in which it was started.");
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

/** @param {Response} response */
async function refusal(response) {
  let detail = "", ref = "";
  try {
    const body = await response.json();
    detail = Array.isArray(body.detail) ? body.detail.map((/** @type {any} */ one) => one.msg).join("; ") : String(body.detail ?? body.error ?? "");
    ref = body.ref ? ` The server's log has the cause: ${body.ref}.` : "";
  } catch { /* no JSON */ }
  const title = response.status === 401 ? "The server wants its token." : response.status === 404 ? "It is not there." : "The server refused it.";
  const help = response.status === 401 ? "Open the address that the terminal printed: it holds the token." : detail;
  return new ApiError(response.status, title, `${help}${ref}`);
}

/** @param {keyof typeof ROUTES} name @param {Record<string, any>} values @param {any} [options] @returns {Promise<any>} */
export const get = async (name, values, options) => (await send(name, values, options)).json();

/**
 * Read a stream of events.
 * @param {Response} response @param {(event: any, id: string) => void} onEvent
 */
export async function frames(response, onEvent) {
  const reader = /** @type {ReadableStream} */ (response.body).pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const cut = rest.lastIndexOf("\n\n");
    if (cut < 0) continue;
    for (const frame of rest.slice(0, cut).split("\n\n")) {
      let data = "", id = "";
      for (const line of frame.split("\n")) {
        if (line.startsWith("data:")) data += line.slice(5).trimStart();
        else if (line.startsWith("id:")) id = line.slice(3).trim();
      }
      if (data) onEvent(JSON.parse(data), id);
    }
    rest = rest.slice(cut + 2);
  }
}
