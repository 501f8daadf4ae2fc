/** All keys, and the switch that turns single letters off. */
import { html } from "../../vendor/preact.js";
import { KEYS } from "../keys.js";
import { keep, singleKeys } from "../store.js";
import { Chip } from "../ui.js";

export default function Keys() {
  const turn = () => { singleKeys.value = !singleKeys.value; keep("keys", singleKeys.value ? "on" : "off"); };
  return html`<div class="head"><b>Keys</b><span class="grow"></span><${Chip} on=${singleKeys.value} onClick=${turn}>single letters<//></div>
    <div class="scroll pad" tabindex="0"><dl class="dl">${KEYS.map(([key, what]) => html`<dt>${key.split("  ").map((one) => html`<span class="key">${one}</span> `)}</dt><dd>${what}</dd>`)}</dl></div>`;
}
