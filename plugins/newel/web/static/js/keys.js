/** Keys: single letters act while no field has the focus, and can be turned off. */
import { go, route, to, toSession } from "./route.js";
import { app, drawer, hidesTalk, running, session, singleKeys, stop } from "./store.js";
import { extra, PANELS } from "./panels.js";

/** Key -> what it does, as the panel of keys shows it. @type {[string, string][]} */
export const KEYS = [
  ["j  k", "next, previous row"], ["h  l", "fold, unfold"], ["Enter", "open"], ["/", "search this panel"],
  ["Esc", "close a menu, then stop the run"], ["1 – 9", "panels"], ["[  ]", "run, call or event before, after"], ["\\", "conversation"],
  ["g s", "sessions"], ["g q", "questions"], ["g e", "evaluation"], ["g c", "composition"],
  ["c", "write"], ["n", "new session"], ["f", "fork here"], ["y", "copy the link"], ["z", "undo"], ["?", "these keys"],
];

let prefix = false;

/** @param {KeyboardEvent} event */
export function onKey(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  const inField = target.matches("input, textarea, select, [contenteditable]");
  if (event.key === "Escape") {
    if (inField) target.blur();
    else if (drawer.value) drawer.value = false;
    else if (running.value) stop();
    return;
  }
  if (inField || !singleKeys.value || event.ctrlKey || event.metaKey || event.altKey) return;
  const act = prefix ? AFTER_G[event.key] : ALONE[event.key];
  prefix = !prefix && event.key === "g";
  if (act) { act(); event.preventDefault(); }
  else if (/^[1-9]$/.test(event.key) && session.value) {
    const hash = addresses(session.value)[Number(event.key) - 1];
    if (hash) go(hash);
  }
}

/** The addresses of the tabs, in their order. @param {{ app: string, id: string }} at */
const addresses = (at) => [...PANELS.map((one) => toSession(at.app, at.id, one.name)), ...extra.value.map((one) => toSession(at.app, at.id, "panel", one.name))];

/** @param {number} step */
function move(step) {
  const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-row]")]).filter((one) => one.offsetParent);
  const at = rows.findIndex((one) => one === document.activeElement || one.getAttribute("aria-selected") === "true");
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
  next?.focus();
  next?.click();
}

/** Press the first button in sight with this name: of the panel, else the last one of the conversation. @param {RegExp} name */
function press(name) {
  const all = (/** @type {string} */ where) => /** @type {HTMLButtonElement[]} */ ([...document.querySelectorAll(where.replace(/[^, ]+/g, "$& button"))]);
  const buttons = [...all(".top"), ...all(".panel, .full"), ...all(".talk").reverse()];
  buttons.find((one) => one.offsetParent && !one.disabled && name.test(one.title || (one.textContent ?? "")))?.click();
}

/** @type {Record<string, () => void>} */
const ALONE = {
  j: () => move(1),
  k: () => move(-1),
  "/": () => /** @type {HTMLElement | null} */ (document.querySelector(".panel input[type=search], .full input[type=search], .side input[type=search]"))?.focus(),
  "\\": () => { hidesTalk.value = !hidesTalk.value; },
  c: () => document.getElementById("write")?.focus(),
  n: () => go(toSession(app.value, "")),
  "[": () => press(/ before$/),
  "]": () => press(/^Next /),
  f: () => press(/everything up to here$/),
  y: () => press(/^Copy the link/),
  z: () => press(/^Undo$/),
  "?": () => go(session.value && route.value.view === "session" ? toSession(session.value.app, session.value.id, "keys") : to("keys")),
};
/** @type {Record<string, () => void>} */
const AFTER_G = {
  s: () => go(to("sessions")), q: () => go(to("questions")), e: () => go(to("evaluation")), c: () => go(to("composition")),
};
