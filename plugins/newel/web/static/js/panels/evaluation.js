/** Evaluation: sets, runs next to each other, expected beside actual; and what people think of answers. */
import { html, useEffect, useSignal } from "../../vendor/preact.js";
import { get, send } from "../api.js";
import { count, duration, money, plural, visible } from "../format.js";
import { ask, go, route, to } from "../route.js";
import { app, session, titleOf, user } from "../store.js";
import { Button, Empty, Failure, Note, Seg } from "../ui.js";
import { CaseDiff } from "./casediff.js";
import { Feedback } from "./feedback.js";
import { Matrix } from "./matrix.js";

const METRICS = [{ metricName: "tool_trajectory_avg_score", threshold: 1 }, { metricName: "response_match_score", threshold: 0.8 }];
const MOST = 20;

/** The address of the view with one value changed. @param {string} set @param {Record<string, string>} query */
const place = (set, query = {}) => `${to("evaluation", ...(set ? [set] : []))}${Object.keys(query).length ? `?${new URLSearchParams(query)}` : ""}`;

export default function Evaluation() {
  const sets = useSignal(/** @type {string[] | null} */ (null));
  const runs = useSignal(/** @type {any} */ (null));
  const failed = useSignal(/** @type {any} */ (null));
  const began = useSignal(0);
  const times = useSignal(1);
  const chosen = route.value.rest[0] ?? "";
  const query = route.value.query;
  const attempt = async (/** @type {() => Promise<void>} */ work) => { try { await work(); failed.value = null; } catch (error) { failed.value = error; } };
  const loadSets = () => attempt(async () => { sets.value = (await get("list_eval_sets", { app_name: app.value })).evalSetIds; });
  const loadRuns = () => attempt(async () => { runs.value = await get("list_eval_runs", { app_name: app.value, eval_set_id: chosen }); });
  useEffect(() => { if (app.value) loadSets(); }, [app.value]);
  useEffect(() => { runs.value = null; if (app.value && chosen) loadRuns(); }, [app.value, chosen]);
  const run = () => attempt(async () => {
    began.value = Date.now();
    try {
      await send("run_eval", { app_name: app.value, eval_set_id: chosen }, { body: { evalMetrics: METRICS, repeats: times.value } });
      await loadRuns();
    } finally { began.value = 0; }
  });
  const added = async (/** @type {string} */ set) => { await loadSets(); go(place(set)); if (set === chosen) await loadRuns(); };
  const feedback = query.get("view") === "feedback";
  const adds = query.get("add");
  const views = [{ name: "sets", label: "Sets", href: place(chosen) }, { name: "feedback", label: "Feedback", href: place("", { view: "feedback" }) }];
  const cases = runs.value?.cases ?? [];
  return html`<div class="head"><h2>Evaluation</h2><${Seg} label="View" options=${views} chosen=${feedback ? "feedback" : "sets"} />
      ${!feedback && sets.value && sets.value.length > 0 && html`<label class="b pick"><select aria-label="Set" value=${chosen} onChange=${(/** @type {any} */ e) => go(place(e.target.value))}>
        ${!chosen && html`<option value="">Choose a set</option>`}${sets.value?.map((one) => html`<option value=${one}>${visible(one)}</option>`)}</select></label>`}
      ${!feedback && chosen && runs.value && html`<span class="q2 hide-s">${plural(cases.length, "case")}, ${METRICS.length} metrics</span>`}<span class="grow"></span>
      ${!feedback && session.value && !adds && html`<${Button} onClick=${() => ask("add", session.value?.id ?? "")}>Add this session<//>`}
      ${!feedback && chosen && cases.length > 0 && html`<${Start} times=${times} runs=${runs.value} began=${began.value} run=${run} />`}</div>
    ${failed.value && html`<${Failure} error=${failed.value} retry=${() => { failed.value = null; loadSets(); if (chosen) loadRuns(); }} />`}
    ${feedback ? html`<${Feedback} />` : html`${adds && html`<${Add} session=${adds} sets=${sets.value ?? []} chosen=${chosen} done=${added} />`}<${Sets} sets=${sets.value} chosen=${chosen} runs=${runs.value} />`}`;
}

/** @param {any} props */
function Sets({ sets, chosen, runs }) {
  if (!sets) return null;
  if (!sets.length) return html`<${Empty} title="No evaluation set yet">A set is a file <code>NAME.evalset.json</code> next to the agent. Open a session and add it here: what was said becomes what is expected.<//>`;
  if (!chosen) return html`<${Note} icon="go">Choose a set.<//>`;
  if (!runs) return null;
  if (!runs.cases.length) return html`<${Empty} title="No case yet">Open a session and add it here: what was said becomes what is expected.<//>`;
  const wanted = route.value.query.get("case") ?? runs.regressions[0] ?? runs.cases[0];
  return html`<div class="scroll" tabindex="0"><${Matrix} runs=${runs} chosen=${wanted} pick=${(/** @type {string} */ id) => ask("case", id)} />
    <${CaseDiff} key=${`${chosen} ${wanted} ${runs.runs.length}`} id=${wanted} runs=${runs.runs} /></div>`;
}

/** How often, for how much, and the button. @param {any} props */
function Start({ times, runs, began, run }) {
  const tick = useSignal(0);
  useEffect(() => { if (!began) return undefined; const timer = setInterval(() => { tick.value += 1; }, 100); return () => clearInterval(timer); }, [began]);
  const last = runs.runs[runs.runs.length - 1];
  const tries = last ? Object.values(last.cells).reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one.n, 0) : 0;
  const cost = last?.cost == null || !tries ? "" : `, about ${money((last.cost / tries) * runs.cases.length * times.value)}`;
  return html`<label class="q2 small times">times <input type="number" min="1" max=${MOST} aria-label="How often each case runs" value=${times.value} onInput=${(/** @type {any} */ e) => { times.value = Math.min(MOST, Math.max(1, Number(e.target.value) || 1)); }} /><span class="hide-s">${cost}</span></label>
    <${Button} kind="main" icon="play" disabled=${Boolean(began)} onClick=${run}>${began ? html`Running <span data-tick=${tick.value}>${duration(Math.max(0.1, (Date.now() - began) / 1000))}</span>` : "Run"}<//>`;
}

/** A session as a case: its name, and the set. @param {{ session: string, sets: string[], chosen: string, done: (set: string) => Promise<void> }} props */
function Add({ session: id, sets, chosen, done }) {
  const open = session.value?.id === id ? session.value : null;
  const name = useSignal(slug(open ? titleOf(open) : id));
  const set = useSignal(chosen || sets[0] || "");
  const problem = useSignal(/** @type {any} */ (null));
  const save = async (/** @type {any} */ e) => {
    e.preventDefault();
    const where = { app_name: app.value, eval_set_id: set.value || "sessions" };
    try {
      if (!sets.includes(where.eval_set_id)) await send("create_eval_set", where, { body: { evalSet: { eval_set_id: where.eval_set_id, eval_cases: [] } } });
      await send("add_session_to_eval_set", where, { body: { evalId: name.value, sessionId: id, userId: user.value } });
      problem.value = null;
      await done(where.eval_set_id);
    } catch (error) { problem.value = error; }
  };
  return html`<form class="filters" onSubmit=${save}><span>Add ${open ? html`“<bdi>${titleOf(open).slice(0, 60)}</bdi>”` : html`session <code>${id.slice(0, 8)}</code>`} as</span>
      <label class="f"><input aria-label="Name of the case" required value=${name.value} onInput=${(/** @type {any} */ e) => { name.value = e.target.value; }} /></label><span>to</span>
      <label class="f"><input aria-label="Set, an old one or a new one" required list="eval-sets" placeholder="sessions" value=${set.value} onInput=${(/** @type {any} */ e) => { set.value = e.target.value; }} /></label>
      <datalist id="eval-sets">${sets.map((one) => html`<option value=${one}></option>`)}</datalist>
      <${Button} kind="main" type="submit">Add<//><${Button} kind="quiet" onClick=${() => ask("add", "")}>Leave it<//></form>
    ${problem.value && html`<${Failure} error=${problem.value} />`}`;
}

/** A text as the id of a case. @param {string} text */
const slug = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "_").replace(/^_|_$/g, "").slice(0, 48) || "case";
