/** The composition: the plugins, why each is in or out, and the order of each chain. */
import { html, useEffect, useSignal } from "../../vendor/preact.js";
import { get } from "../api.js";
import { count, visible } from "../format.js";
import { ask, go, route, to } from "../route.js";
import { Chip, Failure, Note, Search } from "../ui.js";

export default function Composition() {
  const found = useSignal(/** @type {any} */ (null));
  const failed = useSignal(/** @type {any} */ (null));
  useEffect(() => { get("show_composition", {}).then((one) => { found.value = one; }, (error) => { failed.value = error; }); }, []);
  if (failed.value) return html`<${Failure} error=${failed.value} />`;
  if (!found.value) return null;
  const name = route.value.rest[0] ?? "";
  const query = (route.value.query.get("q") ?? "").toLowerCase();
  const state = route.value.query.get("state") ?? "";
  const plugins = found.value.plugins;
  const states = /** @type {string[]} */ ([...new Set(plugins.map((/** @type {any} */ one) => one.state))]);
  const shown = plugins.filter((/** @type {any} */ one) => (!state || one.state === state) && one.name.toLowerCase().includes(query));
  const chosen = plugins.find((/** @type {any} */ one) => one.name === name);
  const broken = plugins.filter((/** @type {any} */ one) => one.state === "failed" || one.state === "left out");
  return html`<div class="head"><h2>Composition</h2><span class="q2">distribution ${found.value.distribution}, ${count(plugins.length)} plugins</span></div>
    ${broken.map((/** @type {any} */ one) => html`<${Note} kind="bad" icon="x"><a href=${to("composition", one.name)}><b>${visible(one.name)}</b></a> is out: ${visible(one.why)}<//>`)}
    <div class="filters"><${Search} label="Find a plugin" value=${query} onInput=${(/** @type {string} */ text) => ask("q", text)} />
      ${states.map((one) => html`<${Chip} on=${state === one} onClick=${() => ask("state", state === one ? "" : one)}>${one} ${plugins.filter((/** @type {any} */ each) => each.state === one).length}<//>`)}</div>
    <div class="split wide-a"><div tabindex="0"><table><colgroup><col style="width:190px" /><col class="hide-s" style="width:140px" /><col style="width:90px" /><col class="hide-s" /></colgroup><thead><tr><th>plugin</th><th class="hide-s">from</th><th>state</th><th class="hide-s">why</th></tr></thead><tbody>
      ${shown.map((/** @type {any} */ one) => html`<tr key=${one.name} data-row tabindex="0" aria-selected=${String(one.name === name)} onClick=${() => go(to("composition", one.name))} onKeyDown=${(/** @type {any} */ e) => e.key === "Enter" && go(to("composition", one.name))}>
        <td>${visible(one.name)}</td><td class="hide-s q2">${visible(one.distribution)} ${visible(one.version)}</td><td class=${one.state === "enabled" ? "ok" : one.state === "failed" ? "bad" : "q2"}>${one.state}</td><td class="hide-s q2">${visible(one.why)}</td></tr>`)}</tbody></table></div>
      <div tabindex="0">${chosen ? html`<${Plugin} plugin=${chosen} chains=${found.value.chains} />` : html`<${Chains} chains=${found.value.chains} />`}</div></div>`;
}

/** @param {{ plugin: any, chains: any }} props */
function Plugin({ plugin, chains }) {
  const places = Object.entries(chains).flatMap(([chain, stages]) => /** @type {any[]} */ (stages).map((one, n) => ({ ...one, chain, place: n + 1, of: /** @type {any[]} */ (stages).length })).filter((one) => one.plugin === plugin.name));
  return html`<div class="insp"><h2>${visible(plugin.name)}</h2><dl class="dl"><dt>from</dt><dd>${visible(plugin.distribution)} ${visible(plugin.version)}</dd><dt>state</dt><dd>${plugin.state}</dd><dt>why</dt><dd>${visible(plugin.why)}</dd>
    ${places.map((one) => html`<dt>${one.chain}</dt><dd><code>${one.name}</code>, place ${one.place} of ${one.of} <span class="q">${visible(one.why)}</span></dd>`)}
    ${plugin.provides.map((/** @type {any} */ one) => html`<dt>provides</dt><dd>${one.kind} <code>${visible(one.name)}</code></dd>`)}
    <dt>leave it out</dt><dd><code>disable: [${plugin.name}]</code> in newel.yaml</dd></dl></div>`;
}

/** @param {{ chains: any }} props */
const Chains = ({ chains }) => html`<div class="insp">${Object.entries(chains).map(([name, stages]) => html`<div><h3>${name}</h3><ol class="order">${/** @type {any[]} */ (stages).map((one) => html`<li><a href=${to("composition", one.plugin)}>${visible(one.name)}</a></li>`)}</ol></div>`)}</div>`;
