/** Parts: what every panel is made of. Pure functions of their properties. */
import { html, useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { ICONS } from "./icons.js";
import { clock, iso, money, shortId } from "./format.js";

/** @param {{ name: string, kind?: string }} props */
export const Icon = ({ name, kind = "" }) =>
  html`<svg class=${`i ${kind}`} viewBox="0 0 16 16" aria-hidden="true" dangerouslySetInnerHTML=${{ __html: /** @type {any} */ (ICONS)[name] ?? "" }}></svg>`;

/** @param {any} props */
export const Button = ({ icon, label, kind = "", children, keys, ...rest }) => {
  const alone = icon && !children;
  return html`<button type="button" class=${`b ${kind} ${alone ? "icon" : ""}`} aria-label=${alone ? label : undefined} title=${label} ...${rest}>
    ${icon && html`<${Icon} name=${icon} />`}${children}${keys && html`<span class="key" aria-hidden="true">${keys}</span>`}</button>`;
};

/** @param {{ text: string | (() => string), label: string, children?: any, kind?: string }} props */
export function CopyButton({ text, label, children, kind = "quiet" }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(typeof text === "function" ? text() : text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  const words = done ? "Copied" : children;
  return html`<${Button} kind=${kind} icon=${done ? "ok" : "copy"} label=${done ? "Copied" : label} onClick=${copy}>${words}<//>`;
}

/** A few views of one thing. @param {{ label: string, options: { name: string, label: any, href: string, off?: boolean }[], chosen: string }} props */
export const Seg = ({ label, options, chosen }) => html`<div class="seg" role="tablist" aria-label=${label}>
  ${options.map((one) => html`<a role="tab" href=${one.href} aria-selected=${String(one.name === chosen)}>${one.label}</a>`)}</div>`;

/** @param {{ on: boolean, children?: any, onClick: () => void, kind?: string }} props */
export const Chip = ({ on, children, onClick, kind = "" }) =>
  html`<button type="button" class=${`chip ${kind}`} aria-pressed=${String(on)} onClick=${onClick}>${children}</button>`;

/** A field with a magnifying glass. The key goes to the first one of a panel. @param {{ label: string, value: string, onInput: (text: string) => void, id?: string }} props */
export const Search = ({ label, value, onInput, id }) => html`<label class="f grow"><${Icon} name="search" />
  <input id=${id} type="search" aria-label=${label} placeholder=${label} value=${value} onInput=${(/** @type {any} */ e) => onInput(e.target.value)} />
  <span class="key" aria-hidden="true">/</span></label>`;

const STATUS = /** @type {Record<string, [string, string]>} */ ({
  failed: ["x", "bad"], asks: ["wait", "warn"], done: ["ok", "ok"], running: ["go", "acc"], waits: ["wait", "warn"], retried: ["retry", "ok"],
});

/** A sign, a colour and a word. @param {{ is: string, children?: any }} props */
export const Status = ({ is, children }) => {
  const [icon, colour] = STATUS[is] ?? ["q", ""];
  return html`<span class=${`st ${colour}`}><${Icon} name=${icon} />${children ?? is}</span>`;
};

/** A line that says what is wrong, or what a panel is for. @param {{ kind?: string, icon?: string, children?: any, action?: any }} props */
export const Note = ({ kind = "", icon, children, action }) => html`<div class=${`note ${kind}`} role=${kind === "bad" ? "alert" : undefined}>
  ${icon && html`<${Icon} name=${icon} kind=${kind} />`}<div class="t">${children}</div>${action}</div>`;

/** @param {{ label: any, children?: any, open?: boolean }} props */
export function Fold({ label, children, open = false }) {
  const [shown, setShown] = useState(open);
  return html`<button type="button" class="fold b quiet" aria-expanded=${String(shown)} onClick=${() => setShown(!shown)}>
    <${Icon} name=${shown ? "down" : "right"} />${label}</button>${shown && children}`;
}

/** @param {{ value: number | null | undefined, incomplete?: boolean }} props */
export const Money = ({ value, incomplete }) => html`<span class="money">${money(value, incomplete)}</span>`;

/** @param {{ at: number }} props */
export const Time = ({ at }) => html`<time dateTime=${iso(at)} title=${iso(at)}>${clock(at)}</time>`;

/** @param {{ id: string }} props */
export const Id = ({ id }) => html`<span class="q mono" title=${id}>${shortId(id)}</span>`;

/** Nothing is here yet: what will come, and the next step. @param {{ title: string, children?: any, action?: any }} props */
export const Empty = ({ title, children, action }) =>
  html`<div class="empty"><h2>${title}</h2><p>${children}</p>${action}</div>`;

/** An error: what failed, and what to do. @param {{ error: any, retry?: () => void }} props */
export const Failure = ({ error, retry }) => html`<${Note} kind="bad" icon="x" action=${retry && html`<${Button} onClick=${retry}>Try again<//>`}>
  <b>${error?.title ?? "The server did not answer."}</b> ${error?.message ?? ""}<//>`;

/** A list of JSON, folded below a depth. @param {{ value: unknown }} props */
export const Json = ({ value }) => html`<pre tabindex="0" class="json">${JSON.stringify(value, null, 2)}</pre>`;

/** How many rows come and go at once, and how many are drawn beyond those in sight. */
const STEP = 12;

/**
 * A table's long list: only the rows in sight exist. They come and go in steps, once a frame, and a row that stays is
 * not drawn again: `render` is asked once for a row, until `version` (what rows depend on besides themselves) changes.
 * @param {{ rows: any[], height: number, render: (row: any, index: number) => any, version: string, label: string, columns: any, head: any, selected?: number }} props
 */
export function Rows({ rows, height, render, version, label, columns, head, selected = -1 }) {
  const [step, setStep] = useState(() => Math.max(0, Math.floor(selected / STEP) - 1));
  const view = useRef({ node: /** @type {any} */ (null), room: 900, frame: 0, seen: "", version: "", drawn: new Map() });
  const at = view.current;
  if (at.version !== version) { at.version = version; at.drawn = new Map(); }
  const long = rows.length > 100;
  const first = long ? Math.min(Math.max(0, step - 1) * STEP, Math.max(0, rows.length - STEP)) : 0;
  const last = long ? Math.min(rows.length, (step + 2) * STEP + Math.ceil(at.room / height)) : rows.length;
  const scroll = () => {
    at.frame ||= requestAnimationFrame(() => {
      at.frame = 0;
      if (at.node) setStep(Math.floor(at.node.scrollTop / height / STEP));
    });
  };
  useEffect(() => {
    const sizes = new ResizeObserver(([one]) => { at.room = one.contentRect.height; });
    sizes.observe(at.node);
    return () => { sizes.disconnect(); cancelAnimationFrame(at.frame); };
  }, []);
  useLayoutEffect(() => {
    if (selected < 0 || at.seen === String(selected)) return;
    at.seen = String(selected);
    const place = selected * height, { scrollTop, clientHeight } = at.node;
    if (place < scrollTop || place > scrollTop + clientHeight - 2 * height) at.node.scrollTop = Math.max(0, place - clientHeight / 2);
  }, [selected]);
  const drawn = new Map();
  for (let n = first; n < last; n += 1) drawn.set(rows[n].index ?? n, at.drawn.get(rows[n].index ?? n) ?? render(rows[n], n));
  at.drawn = drawn;
  return html`<div class="scroll rows" tabindex="0" onScroll=${scroll} ref=${(/** @type {any} */ node) => { at.node = node; }}>
    <table role="grid" aria-label=${label} aria-rowcount=${rows.length}><colgroup>${columns}</colgroup><thead>${head}</thead><tbody>
      ${first > 0 && html`<tr key="before" aria-hidden="true"><td class="gap" style=${`height:${first * height}px`}></td></tr>`}
      ${[...drawn.values()]}
      ${last < rows.length && html`<tr key="after" aria-hidden="true"><td class="gap" style=${`height:${(rows.length - last) * height}px`}></td></tr>`}
    </tbody></table></div>`;
}
