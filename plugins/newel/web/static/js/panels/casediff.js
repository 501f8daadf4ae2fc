/** A case of a run: expected beside actual, turn by turn, in text and in calls. */
import { html, useEffect, useSignal } from "../../vendor/preact.js";
import { get } from "../api.js";
import { argumentLine, visible } from "../format.js";
import { ask, route } from "../route.js";
import { app } from "../store.js";
import { Chip, Failure, Icon, Note } from "../ui.js";

/** @param {{ id: string, runs: any[] }} props */
export function CaseDiff({ id, runs }) {
  const result = useSignal(/** @type {any} */ (null));
  const failed = useSignal(/** @type {any} */ (null));
  const wanted = route.value.query.get("run");
  const run = runs.find((one) => one.id === wanted) ?? runs.filter((one) => one.cells[id]).pop();
  useEffect(() => {
    result.value = null;
    if (run) get("get_eval_result", { app_name: app.value, eval_result_id: run.id }).then((one) => { result.value = one; }, (error) => { failed.value = error; });
  }, [run?.id]);
  if (failed.value) return html`<${Failure} error=${failed.value} />`;
  if (!run || !result.value) return null;
  const tries = result.value.evalCaseResults.filter((/** @type {any} */ one) => one.evalId === id);
  const passed = (/** @type {any} */ one) => one.finalEvalStatus === 1;
  const number = Number(route.value.query.get("try") ?? tries.findIndex((/** @type {any} */ one) => !passed(one)) + 1) || 1;
  const shown = tries[number - 1];
  if (!shown) return html`<${Note} icon="q">The case did not run then.<//>`;
  const before = runs[runs.indexOf(run) - 1]?.cells[id];
  return html`<div class="insp bordered"><h2><${Icon} name=${passed(shown) ? "ok" : "x"} kind=${passed(shown) ? "ok" : "bad"} /><span>${visible(id)}</span>
      <span class=${`st ${passed(shown) ? "ok" : "bad"}`}>${passed(shown) ? "passed" : "failed"}${before ? html`, was ${before.passed} of ${before.n}` : ""}</span><span class="grow"></span>
      ${tries.length > 1 && tries.map((/** @type {any} */ one, /** @type {number} */ n) => html`<${Chip} on=${n === number - 1} kind=${passed(one) ? "" : "bad"} onClick=${() => ask("try", String(n + 1))}>${passed(one) ? "✓" : "✕"} ${n + 1}<//>`)}</h2>
    ${shown.errorMessage && html`<div class="err">${visible(shown.errorMessage)}</div>`}
    <dl class="dl"><dt>metrics</dt><dd>${shown.overallEvalMetricResults.map((/** @type {any} */ one) => html`<${Score} one=${one} />`)}</dd></dl>
    ${shown.evalMetricResultPerInvocation.map((/** @type {any} */ one, /** @type {number} */ n) => html`<${TurnDiff} turn=${one} number=${n + 1} />`)}</div>`;
}

/** @param {{ one: any }} props */
const Score = ({ one }) => html`<div>${one.metricName} <b class=${one.evalStatus === 2 ? "bad" : ""}>${one.score == null ? "not computed" : one.score.toFixed(2)}</b>${one.threshold != null ? `, needs ${one.threshold.toFixed(2)}` : ""}${one.details?.explanation ? html` <span class="q2">${visible(one.details.explanation)}</span>` : ""}</div>`;

/** @param {{ turn: any, number: number }} props */
function TurnDiff({ turn, number }) {
  const expected = linesOf(turn.expectedInvocation), actual = linesOf(turn.actualInvocation);
  const asked = (turn.actualInvocation?.userContent?.parts ?? []).map((/** @type {any} */ one) => one.text ?? "").join("");
  return html`<div><h3>Turn ${number}: <bdi>${visible(asked.slice(0, 120))}</bdi></h3><div class="cmp">
    <div><h3>Expected</h3><${Side} own=${expected} other=${actual} sign="−" kind="del" /></div><div><h3>Actual</h3><${Side} own=${actual} other=${expected} sign="+" kind="add" /></div></div></div>`;
}

/** @param {{ own: string[], other: string[], sign: string, kind: string }} props */
const Side = ({ own, other, sign, kind }) => html`<div class="diff" tabindex="0">${own.length === 0 && html`<div><span></span><span></span><span class="q">nothing</span></div>`}
  ${own.map((text) => { const same = other.includes(text); return html`<div class=${same ? "" : kind}><span></span><span>${same ? "" : sign}</span><span dir="auto">${visible(text)}</span></div>`; })}</div>`;

/** A turn in lines: each call, then the answer. @param {any} invocation @returns {string[]} */
function linesOf(invocation) {
  if (!invocation) return [];
  const data = invocation.intermediateData;
  const uses = data?.toolUses ?? (data?.invocationEvents ?? []).flatMap((/** @type {any} */ one) => (one.content?.parts ?? []).filter((/** @type {any} */ part) => part.functionCall).map((/** @type {any} */ part) => part.functionCall));
  const said = (invocation.finalResponse?.parts ?? []).map((/** @type {any} */ one) => one.text ?? "").join("");
  return [...uses.map((/** @type {any} */ one) => `${one.name}(${argumentLine(one.args)})`), ...(said ? said.split("\n") : [])];
}
