/** How values look: money, times, counts, ids. */

const COUNT = new Intl.NumberFormat("en-US");

/** @param {number | null | undefined} value */
export function count(value) {
  if (value == null) return "";
  return value >= 1e6 ? `${(value / 1e6).toFixed(2)} M` : COUNT.format(value);
}

/** US dollars. @param {number | null | undefined} value @param {boolean} [incomplete] */
export function money(value, incomplete = false) {
  if (value == null) return "no price";
  const size = Math.abs(value);
  const text = size >= 1 ? `$${size.toFixed(2)}` : size > 0 && size < 0.0001 ? "<$0.0001" : `$${size.toFixed(4)}`;
  return `${incomplete ? "≥ " : ""}${value < 0 ? "−" : ""}${text}`;
}

/** A duration. @param {number | null | undefined} seconds */
export function duration(seconds) {
  if (seconds == null || Number.isNaN(seconds)) return "";
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 0.01) return `${(seconds * 1e3).toFixed(2)} ms`;
  if (seconds < 0.1) return `${(seconds * 1e3).toFixed(1)} ms`;
  if (seconds < 1) return `${Math.round(seconds * 1e3)} ms`;
  if (seconds < 10) return `${seconds.toFixed(2)} s`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const two = (/** @type {number} */ n) => String(Math.floor(n)).padStart(2, "0");
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${two(seconds % 60)} min`;
  return `${Math.floor(seconds / 3600)}:${two((seconds % 3600) / 60)} h`;
}

const two = (/** @type {number} */ n) => String(n).padStart(2, "0");

/** 19:04 @param {number} seconds Unix time */
export function clock(seconds) {
  const at = new Date(seconds * 1000);
  return `${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** 19:04:11.204 @param {number} seconds Unix time */
export function precise(seconds) {
  const at = new Date(seconds * 1000);
  return `${clock(seconds)}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

/** @param {number} seconds Unix time */
export const iso = (seconds) => (Number.isFinite(seconds) ? new Date(seconds * 1000).toISOString() : "");

/** How long ago: now, 14 min, 3 h, yesterday, 23 Nov. @param {number} seconds Unix time */
export function ago(seconds) {
  const age = Date.now() / 1000 - seconds;
  if (age < 60) return "now";
  if (age < 3600) return `${Math.floor(age / 60)} min`;
  const day = new Date(seconds * 1000), today = new Date();
  if (day.toDateString() === today.toDateString()) return `${Math.floor(age / 3600)} h`;
  today.setDate(today.getDate() - 1);
  if (day.toDateString() === today.toDateString()) return "yesterday";
  return day.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
}

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${Math.round(bytes / 1000)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** The beginning of an id, and of a UUID its end. @param {string} id */
export function shortId(id) {
  return id.length <= 12 ? id : /^[0-9a-f]{8}-/.test(id) ? `${id.slice(0, 8)}…${id.slice(-4)}` : `${id.slice(0, 8)}…`;
}

/** Marks that hide or turn text, which must be seen in names and arguments. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** A text with its invisible characters written out. @param {unknown} text */
export function visible(text) {
  return String(text).replace(HIDDEN, (one) => `U+${one.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}`);
}

/** A value in one line, as arguments are shown. @param {unknown} value @param {number} [most] */
export function brief(value, most = 80) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return visible(text && text.length > most ? `${text.slice(0, most)}…` : text ?? "");
}

/** Arguments in one line: number 17, amount 129. @param {Record<string, unknown> | undefined} args */
export function argumentLine(args) {
  return Object.entries(args ?? {}).map(([name, value]) => `${visible(name)} ${brief(value, 40)}`).join(", ");
}

/** @param {number} n @param {string} one @param {string} [many] */
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
