/** Evaluation: the sets of the agent, their cases and the results of earlier runs. */
import { html, useEffect, useSignal } from "../../vendor/preact.js";
import { get } from "../api.js";
import { visible } from "../format.js";
import { go, route, to } from "../route.js";
import { app } from "../store.js";
import { Button, Empty, Failure, Note, Status } from "../ui.js";

export default function Evaluation() {
  const sets = useSignal(/** @type {string[] | null} */ (null));
  const cases = useSignal(/** @type {string[]} */ ([]));
  const outcome = useSignal(/** @type {any[]} */ ([]));
  const failed = useSignal(/** @type {any} */ (null));
  const busy = useSignal(false);
  const chosen = route.value.rest[0] ?? "";
  const attempt = async (/** @type {() => Promise<void>} */ work) => { try { await work(); failed.value = null; } catch (error) { failed.value = error; } };
  useEffect(() => { if (app.value) attempt(async () => { const found = await get("list_eval_sets", { app_name: app.value }); sets.value = found.evalSetIds ?? found; }); }, [app.value]);
  useEffect(() => { outcome.value = []; if (app.value && chosen) attempt(async () => { cases.value = await get("list_eval_cases", { app_name: app.value, eval_set_id: chosen }); }); }, [app.value, chosen]);
  const run = () => attempt(async () => {
    busy.value = true;
    try {
      const metrics = [{ metricName: "tool_trajectory_avg_score", threshold: 1 }, { metricName: "response_match_score", threshold: 0.8 }];
      const found = await get("run_eval", { app_name: app.value, eval_set_id: chosen }, { body: { evalCaseIds: cases.value, evalMetrics: metrics } });
      outcome.value = found.runEvalResults ?? found;
    } finally { busy.value = false; }
  });
  if (failed.value) return html`<${Failure} error=${failed.value} retry=${() => { failed.value = null; }} />`;
  if (!sets.value) return null;
  if (!sets.value.length) return html`<div class="head"><h2>Evaluation</h2></div><${Empty} title="No evaluation set yet">A set is a file <code>NAME.evalset.json</code> next to the agent. <code>newel eval record</code> makes one from a session.<//>`;
  return html`<div class="head"><h2>Evaluation of ${app.value}</h2></div><div class="split"><div tabindex="0"><table><thead><tr><th>set</th></tr></thead><tbody>
      ${sets.value.map((one) => html`<tr key=${one} data-row tabindex="0" aria-selected=${String(one === chosen)} onClick=${() => go(to("evaluation", one))}><td>${visible(one)}</td></tr>`)}</tbody></table></div>
    <div tabindex="0">${chosen ? html`<div class="head"><b>${visible(chosen)}</b><span class="q2">${cases.value.length} cases</span><span class="grow"></span><${Button} kind="main" icon="play" disabled=${busy.value} onClick=${run}>${busy.value ? "Running" : "Run all"}<//></div>
      <table class="mx"><thead><tr><th>case</th><th>state</th><th>scores</th></tr></thead><tbody>${cases.value.map((id) => {
        const one = outcome.value.find((each) => each.evalId === id);
        const passed = one && (one.finalEvalStatus === 1 || one.finalEvalStatus === "PASSED");
        const scores = (one?.overallEvalMetricResults ?? []).map((/** @type {any} */ each) => `${each.metricName} ${each.score ?? "none"}`).join(", ");
        return html`<tr key=${id}><td>${visible(id)}</td><td>${one ? html`<${Status} is=${passed ? "done" : "failed"}>${passed ? "passed" : "failed"}<//>` : html`<span class="q">not run</span>`}</td><td class="q2">${scores}</td></tr>`;
      })}</tbody></table>` : html`<${Note} icon="go">Choose a set.<//>`}</div></div>`;
}
