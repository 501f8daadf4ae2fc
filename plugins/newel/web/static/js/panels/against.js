/** Two calls of one agent: what both begin with, where that ends and by whom, what it cost, and what would mend it. */
import { html, useEffect, useSignal } from "../../vendor/preact.js";
import { get } from "../api.js";
import { count, duration, money, visible } from "../format.js";
import { usageOf } from "../log.js";
import { explained, modelCalls, spans } from "../store.js";
import { CopyButton, Fold, Icon } from "../ui.js";
import { linesOf, nameOf, ownerOf, recordingOf } from "./recordings.js";
import { Unknown } from "./unknown.js";

/** Below this many tokens a provider caches nothing, and after this many seconds it has forgotten. */
const LEAST = 1024, FORGETS = 300;

/** @param {any[]} lines */
const characters = (lines) => lines.reduce((sum, one) => sum + (one.size ?? one.text.length), 0);

/** What two requests have in common, in lines, and in tokens by their characters. @param {any[]} own @param {any[]} old @param {number} tokens */
export function compared(own, old, tokens) {
  let same = 0;
  while (same < own.length && same < old.length && own[same].text === old[same].text) same += 1;
  const share = (/** @type {any[]} */ lines) => Math.round((characters(lines) / (characters(own) || 1)) * tokens);
  const grows = same === old.length;
  const texts = new Set(old.map((one) => one.text));
  const common = share(own.slice(0, same));
  const again = grows ? 0 : share(own.slice(same).filter((one) => texts.has(one.text)));
  return { same, grows, common, again, fresh: Math.max(0, tokens - common - again), breaker: grows ? null : own[same], was: grows ? null : old[same], share };
}

/** @param {{ call: any, other: any, recording: any }} props */
export function Against({ call, other, recording }) {
  const before = recordingOf(other, modelCalls.value, explained.value);
  if (!before) return html`<${Unknown} />`;
  const own = linesOf(recording), old = linesOf(before);
  const usage = usageOf([call.entry.event]);
  const found = compared(own, old, usage.in);
  return html`<div class="scroll" tabindex="0"><${Verdict} found=${found} call=${call} other=${other} usage=${usage} />
    <div class="diff cache"><${Lines} own=${own} old=${old} found=${found} call=${call} other=${other} /></div></div>`;
}

/** @param {{ found: any, call: any, other: any, usage: import("../log.js").Usage }} props */
function Verdict({ found, call, other, usage }) {
  const { common, again, fresh, grows, breaker } = found;
  const reports = modelCalls.value.some((one) => usageOf([one.entry.event]).cached > 0);
  const cost = costOf(call, again);
  const reason = disagreement(found, call, other, usage);
  const broken = !grows && reports;
  return html`<div class="verdict">
    <div class="big">${grows ? html`All of call ${other.number} stands at the beginning of this call, ≈ ${count(common)} tokens.` : broken ? html`The cache broke after ≈ ${count(common)} tokens.${again > 0 && cost !== null && html` It cost about <span class="bad">${money(cost)}</span>.`}` : html`The common beginning ends after ≈ ${count(common)} tokens.`}</div>
    <div class="bar3" role="img" aria-label=${`about ${count(common)} tokens the same, ${count(again)} written again, ${count(fresh)} new`}><span class="hit" style=${`flex:${common}`}>the same ≈ ${count(common)}</span>${again > 0 && html`<span class="again" style=${`flex:${again}`}>written again ≈ ${count(again)}</span>`}<span class="new" style=${`flex:${fresh}`}>new ≈ ${count(fresh)}</span></div>
    <div>${usage.cached ? html`The provider reports <b>${count(usage.cached)}</b> tokens read from its cache, ${money(usage.cost)} for the call.` : reports ? "The provider reports that nothing was read from its cache." : "The provider reports no cache: there is no verdict, only the difference."}
      ${reason && html` <span class="q2">${reason}</span>`}</div>
    ${breaker && html`<${Culprit} found=${found} cost=${cost} />`}</div>`;
}

/** Who wrote the first line that differs, and what would mend it. @param {{ found: any, cost: number | null }} props */
function Culprit({ found, cost }) {
  const { breaker, was } = found;
  const step = breaker.step;
  if (!step) return html`<div class="q2">The first line that differs is of the conversation: its earlier messages have changed.</div>`;
  return html`<div><b>${nameOf(step)}</b> <span class="q2">${ownerOf(step)}</span> wrote “${visible(breaker.text.slice(0, 120))}”${was && html` where there was “${visible(was.text.slice(0, 120))}”`}.${cost === null && " No price of the model is known."}</div>
    ${step.plugin && step.kind === "processor" ? html`<${Remedy} key=${step.name} step=${step} />` : html`<div class="q2">${step.plugin ? "" : "It is the agent's own: put what changes behind what stays."}</div>`}`;
}

/** A change of the distribution, offered only if it composes. @param {{ step: any }} props */
function Remedy({ step }) {
  const offer = useSignal(/** @type {{ words: string, yaml: string } | null} */ (null));
  const tried = useSignal(false);
  useEffect(() => {
    (async () => {
      const { chains } = await get("show_composition", {});
      const names = chains.request_chain?.map((/** @type {any} */ one) => one.name) ?? [];
      const last = names.filter((/** @type {string} */ one) => one !== step.name).concat(step.name);
      const trials = [...(names.includes(step.name) && names[names.length - 1] !== step.name ? [{ words: `${step.name} as the last step`, body: { request_chain: last } }] : []), { words: `without ${step.plugin}`, body: { disable: [step.plugin] } }];
      for (const one of trials) {
        const answer = await get("try_composition", {}, { body: one.body });
        if (answer.accepted) { offer.value = { words: one.words, yaml: answer.yaml }; break; }
      }
      tried.value = true;
    })().catch(() => { tried.value = true; });
  }, []);
  if (offer.value) return html`<div><${CopyButton} kind="" text=${offer.value.yaml} label="Copy the distribution as YAML">Copy YAML: ${offer.value.words}<//> <span class="q2">It composes: as <code>newel.yaml</code> it is used at the next start.</span></div>`;
  return tried.value ? html`<div class="q2">No change of the distribution that composes would mend it.</div>` : null;
}

/** What it cost to send tokens again that the cache could have read. @param {any} call @param {number} again @returns {number | null} */
function costOf(call, again) {
  const attributes = spans.value.find((one) => one.attributes["gcp.vertex.agent.event_id"] === call.entry.event.id)?.attributes ?? {};
  const price = attributes["newel.input_price"], cached = attributes["newel.cached_price"];
  return price == null || cached == null ? null : again * (price - cached);
}

/** Why the cached tokens that are reported are not those that both calls begin with. @param {any} found @param {any} call @param {any} other @param {import("../log.js").Usage} usage */
function disagreement(found, call, other, usage) {
  const { common } = found;
  if (Math.abs(usage.cached - common) <= Math.max(usage.in * 0.1, 64)) return "";
  if (usage.cached > common) return `That is more than the ≈ ${count(common)} that both calls begin with: another call wrote it, or the estimate by characters is off.`;
  const apart = call.entry.event.timestamp - other.entry.event.timestamp;
  if (apart > FORGETS) return `Both calls begin with ≈ ${count(common)}, but ${duration(apart)} lie between them: a cache forgets after about 5 minutes.`;
  if (common < LEAST) return `Both calls begin with ≈ ${count(common)}: providers cache nothing below ${count(LEAST)} tokens.`;
  const first = usageOf([other.entry.event]);
  if (!first.cached && !first.written) return `Both calls begin with ≈ ${count(common)}, but call ${other.number} reports nothing written to the cache.`;
  return `Both calls begin with ≈ ${count(common)}: a cache works in blocks, and only up to where a provider was told to write.`;
}

/** @param {{ own: any[], old: any[], found: any, call: any, other: any }} props */
function Lines({ own, old, found, call, other }) {
  const { same, grows, share } = found;
  const texts = new Set(old.map((one) => one.text)), kept = new Set(own.map((one) => one.text));
  const gone = grows ? [] : old.slice(same).filter((one) => !kept.has(one.text));
  const line = (/** @type {any} */ one, /** @type {string} */ kind, /** @type {string} */ word, /** @type {string} */ sign, /** @type {any} */ shown = visible(one.text)) => html`<div class=${kind}><span>${word}</span><span>${sign}</span><span dir="auto">${shown}</span></div>`;
  const head = own.slice(0, same), tail = own.slice(same);
  const next = tail.find((one) => !texts.has(one.text));
  let part = head[head.length - 1]?.part ?? "";
  return html`${head.length > 0 && html`<div class="sec"><span></span><span></span><span>the same, ≈ ${count(share(head))} tokens</span></div>`}
    ${head.slice(0, 6).map((one, n) => line(one, "hit", n ? "" : "the same", ""))}
    ${head.length > 6 && html`<${Fold} label=${`${count(head.length - 6)} more lines, the same`}>${head.slice(6).map((one) => line(one, "hit", "", ""))}<//>`}
    ${!grows && html`<div class="brk"><${Icon} name="warn" />Here the common beginning ends${found.breaker?.step ? html`, by <b>${nameOf(found.breaker.step)}</b>` : ""}.</div>`}
    ${gone.map((one) => line(one, "del", `call ${other.number}`, "−", one === gone[0] && next ? marked(one.text, next.text) : undefined))}
    ${tail.map((one) => {
      const title = one.part !== part && html`<div class="sec"><span></span><span></span><span>${one.part}</span></div>`;
      part = one.part;
      const again = !grows && texts.has(one.text);
      return html`${title}${again ? line(one, "again", "again", "") : line(one, "add", grows ? "new" : `call ${call.number}`, "+", one === next && gone.length ? marked(one.text, gone[0].text) : undefined)}`;
    })}`;
}

/** A text with what another one has not: between their common beginning and end. @param {string} text @param {string} other */
function marked(text, other) {
  let start = 0;
  while (start < text.length && start < other.length && text[start] === other[start]) start += 1;
  let end = 0;
  while (end < text.length - start && end < other.length - start && text[text.length - 1 - end] === other[other.length - 1 - end]) end += 1;
  return [visible(text.slice(0, start)), html`<u>${visible(text.slice(start, text.length - end))}</u>`, visible(text.slice(text.length - end))];
}
