/** Two calls of one agent: what both begin with, where that ends, and what it cost. */
import { html } from "../../vendor/preact.js";
import { count, money, visible } from "../format.js";
import { usageOf } from "../log.js";
import { explained, modelCalls } from "../store.js";
import { Fold, Icon } from "../ui.js";
import { linesOf, nameOf, ownerOf, recordingOf } from "./recordings.js";
import { Unknown } from "./unknown.js";

/** Two calls of one agent: the common beginning, and where it ends. @param {{ call: any, other: any, recording: any }} props */
export function Against({ call, other, recording }) {
  const before = recordingOf(other, modelCalls.value, explained.value);
  if (!before) return html`<${Unknown} />`;
  const own = linesOf(recording), old = linesOf(before);
  let same = 0;
  while (same < own.length && same < old.length && own[same].text === old[same].text) same += 1;
  const usage = usageOf([call.entry.event]);
  const characters = (/** @type {any[]} */ lines) => lines.reduce((sum, one) => sum + (one.size ?? one.text.length), 0);
  const whole = characters(own) || 1;
  const common = Math.round((characters(own.slice(0, same)) / whole) * usage.in);
  const grows = same === old.length;
  const breaker = own[same];
  const kept = own.slice(same).filter((one) => old.some((each) => each.text === one.text));
  const again = grows ? 0 : Math.round((characters(kept) / whole) * usage.in);
  const fresh = Math.max(0, usage.in - common - again);
  return html`<div class="scroll" tabindex="0"><div class="verdict">
      <div class="big">${grows ? html`All of call ${other.number} stands at the beginning of this call, ≈ ${count(common)} tokens.` : html`The common beginning ends after ≈ ${count(common)} tokens.`}</div>
      <div class="bar3" role="img" aria-label=${`about ${count(common)} tokens the same, ${count(again)} written again, ${count(fresh)} new`}><span class="hit" style=${`flex:${common}`}>the same ≈ ${count(common)}</span>${again > 0 && html`<span class="again" style=${`flex:${again}`}>written again ≈ ${count(again)}</span>`}<span class="new" style=${`flex:${fresh}`}>new ≈ ${count(fresh)}</span></div>
      <div>${usage.cached ? html`The provider reports <b>${count(usage.cached)}</b> tokens read from its cache, ${money(usage.cost)} for the call.` : "The provider reports no cached tokens."}
        ${usage.cached && Math.abs(usage.cached - common) > usage.in * 0.2 ? html` <span class="q2">Its cache works in blocks and forgets after minutes, so the two differ.</span>` : ""}</div>
      ${!grows && breaker?.step && html`<div><b>${nameOf(breaker.step)}</b> <span class="q2">${ownerOf(breaker.step)}</span> wrote the first line that differs.</div>`}</div>
    <div class="diff cache"><${Compared} own=${own} old=${old} same=${same} grows=${grows} /></div></div>`;
}

/** @param {{ own: any[], old: any[], same: number, grows: boolean }} props */
function Compared({ own, old, same, grows }) {
  const texts = new Set(old.map((one) => one.text));
  const gone = grows ? [] : old.slice(same).filter((one) => !own.some((each) => each.text === one.text));
  const line = (/** @type {any} */ one, /** @type {string} */ kind, /** @type {string} */ word, /** @type {string} */ sign) => html`<div class=${kind}><span>${word}</span><span>${sign}</span><span dir="auto">${visible(one.text)}</span></div>`;
  const head = own.slice(0, same);
  return html`${head.slice(0, 6).map((one, n) => line(one, "hit", n ? "" : "the same", ""))}
    ${head.length > 6 && html`<${Fold} label=${`${count(head.length - 6)} more lines, the same`}>${head.slice(6).map((one) => line(one, "hit", "", ""))}<//>`}
    ${!grows && html`<div class="brk"><${Icon} name="warn" />Here the common beginning ends.</div>`}
    ${gone.map((one) => line(one, "del", "gone", "−"))}
    ${own.slice(same).map((one) => (!grows && texts.has(one.text) ? line(one, "again", "again", "") : line(one, "add", "new", "+")))}`;
}
