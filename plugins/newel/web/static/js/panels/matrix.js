/** The runs of a set next to each other: a row a case, a column a run, and what moved between the last two. */
import { html } from "../../vendor/preact.js";
import { ago, clock, count, iso, money, plural, visible } from "../format.js";
import { Icon } from "../ui.js";

const percent = (/** @type {number} */ value) => Math.round(value * 100);
const signed = (/** @type {number} */ value) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value).toFixed(2)}`;

/** @param {{ runs: any, chosen: string, pick: (id: string) => void }} props */
export function Matrix({ runs, chosen, pick }) {
  const list = runs.runs;
  const [before, last] = [list[list.length - 2], list[list.length - 1]];
  if (!last) return html`<div class="pad q2">${plural(runs.cases.length, "case")}, not run yet.</div><${Table} list=${[]} runs=${runs} chosen=${chosen} pick=${pick} />`;
  return html`<${Table} list=${list} runs=${runs} before=${before} last=${last} chosen=${chosen} pick=${pick} />
    ${before && html`<div class="pad q2 small">${verdict(runs.changes)}</div>`}`;
}

/** Whether the last run is worse or better, and how sure that is. @param {any[]} changes */
function verdict(changes) {
  const rate = changes.find((one) => one.name === "pass rate");
  const worse = changes.filter((one) => one.regressed && one !== rate).map((one) => `${one.name} ${one.before.toPrecision(3)} to ${one.after.toPrecision(3)}`);
  const rest = worse.length ? ` Worse, and hardly by chance: ${worse.join(", ")}.` : "";
  if (!rate || rate.before === rate.after) return `As many cases passed as in the run before.${rest}`;
  const fewer = `${rate.after < rate.before ? "Fewer" : "More"} cases passed than before`;
  return rate.p < 0.05 ? `${fewer}, and hardly by chance (p = ${rate.p.toFixed(3)}).${rest}` : `${fewer}. It may be chance (p = ${rate.p.toFixed(2)}): more cases, or more runs of each, would tell.${rest}`;
}

/** @param {any} props */
function Table({ list, runs, before, last, chosen, pick }) {
  return html`<table class="mx" role="grid" aria-label="Runs of the set"><thead><tr><th class="c0">case</th>${list.map((/** @type {any} */ one) => html`<th class=${one === last ? "" : "hide-s"} title=${iso(one.created)}>${one === last ? `${clock(one.created)}, last` : ago(one.created)}</th>`)}
      ${before && html`<th class="num c3">change</th><th class="hide-s">what moved</th>`}</tr></thead><tbody>
    ${runs.cases.map((/** @type {string} */ id) => html`<tr key=${id} data-row tabindex="0" aria-selected=${String(id === chosen)} onClick=${() => pick(id)} onKeyDown=${(/** @type {any} */ e) => e.key === "Enter" && pick(id)}><td><bdi>${visible(id)}</bdi></td>
      ${list.map((/** @type {any} */ one) => html`<td class=${`c ${one === last ? "" : "hide-s"}`}><${Cell} cell=${one.cells[id]} /></td>`)}${before && html`<${Moved} from=${before.cells[id]} into=${last.cells[id]} />`}</tr>`)}
    ${last && html`<${Sums} list=${list} before=${before} last=${last} />`}</tbody></table>`;
}

/** @param {{ cell: any }} props */
function Cell({ cell }) {
  if (!cell) return html`<span class="q">not run</span>`;
  const passed = cell.passed * 2 > cell.n;
  const title = Object.entries(cell.scores).map(([name, value]) => `${name} ${Number(value).toFixed(2)}`).join(", ");
  return html`<span class=${`st ${passed ? "ok" : "bad"}`} title=${title}><${Icon} name=${passed ? "ok" : "x"} />${cell.score === null ? (passed ? "passed" : "failed") : cell.score.toFixed(2)}${cell.n > 1 && html` <span class="q">${cell.passed} of ${cell.n}</span>`}</span>`;
}

/** @param {{ from: any, into: any }} props */
function Moved({ from, into }) {
  if (!from || !into) return html`<td class="num c3"></td><td class="hide-s q2">${into ? "new" : ""}</td>`;
  const by = (into.score ?? 0) - (from.score ?? 0);
  const [was, is] = [from.passed * 2 > from.n, into.passed * 2 > into.n];
  const words = was === is ? (from.passed / from.n === into.passed / into.n ? "" : `passed ${into.passed} of ${into.n}, was ${from.passed} of ${from.n}`) : is ? "passes now" : "fails now";
  return html`<td class=${`num c3 ${is && !was ? "ok" : was && !is ? "bad" : "q2"}`}>${Math.abs(by) < 0.005 ? "0" : signed(by)}</td><td class="hide-s q2">${words}</td>`;
}

/** @param {{ list: any[], before: any, last: any }} props */
function Sums({ list, before, last }) {
  const end = (/** @type {any} */ value) => before && html`<td class="num c3">${value}</td><td class="hide-s"></td>`;
  const old = (/** @type {any} */ one) => (one === last ? "" : "hide-s");
  const range = (/** @type {any} */ one) => (one.passRate.low === null ? "one case only" : `${percent(one.passRate.low)} to ${percent(one.passRate.high)} %`);
  return html`<tr class="sum-row"><td><b>passed</b></td>${list.map((one) => html`<td class=${old(one)}>${one === last ? html`<b>${one.passed} of ${one.cases}</b>` : `${one.passed} of ${one.cases}`}</td>`)}${end(before && String(last.passed - before.passed).replace("-", "−"))}</tr>
    <tr><td class="q2" title=${last.passRate.method}>95 % range</td>${list.map((one) => html`<td class=${`q2 ${old(one)}`}>${range(one)}${one.repeats > 1 && html`<span class="hide-m hide-s">, ${one.repeats} runs each</span>`}</td>`)}${end("")}</tr>
    <tr><td class="q2">cost</td>${list.map((one) => html`<td class=${`q2 ${old(one)}`}>${one.cost === null ? "no price" : money(one.cost)}</td>`)}${end(before?.cost != null && last.cost != null ? Math.abs(last.cost - before.cost) < 0.00005 ? "same" : money(last.cost - before.cost).replace(/^(?=\$)/, "+") : "")}</tr>
    <tr><td class="q2">tokens</td>${list.map((one) => html`<td class=${`q2 ${old(one)}`}>${count(one.tokens)}</td>`)}${end("")}</tr>`;
}
