/** The page: the grid, the bar on top, the side, the tabs. */
import { html, render, signal, useSignal } from "../vendor/preact.js";
import { ago, count, money } from "./format.js";
import { onKey } from "./keys.js";
import { PluginPanel } from "./element.js";
import { early, extra, HIDDEN, Opened, PANELS, VIEWS } from "./panels.js";
import { ask, go, route, to, toSession } from "./route.js";
import {
  app, apps, begin, connection, drawer, events, hidesTalk, keep, loadApps, missing, owners, problem, questions, rename, session, stored, summaries, theme, titleOf, unread, user,
} from "./store.js";
import { Talk } from "./talk.js";
import { Button, CopyButton, Empty, Failure, Icon, Id, Note, Status } from "./ui.js";

function turn() {
  theme.value = theme.value === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = theme.value;
  keep("theme", theme.value);
}

function Top() {
  const open = questions.value.length;
  const at = session.value;
  const link = () => location.href;
  return html`<header class="top">
    <a class="logo n" href="#/" aria-label="newel: home"><${Icon} name="logo" /><span class="hide-s">newel</span></a>
    <span class="only-m only-s"><${Button} kind="quiet" icon="menu" label="Sessions" onClick=${() => { drawer.value = !drawer.value; }} /></span>
    <${Apps} />
    ${at && route.value.view === "session" && html`<span class="sep hide-s"></span><${Title} at=${at} />
      <span class="hide-m hide-s"><${Id} id=${at.id} /></span><span class="hide-m hide-s"><${CopyButton} text=${link} label="Copy the link of this session" /></span>`}
    <span class="grow"></span>
    ${connection.value === "live" ? stored.value ? html`<span class="st acc hide-s"><${Icon} name="lock" />${stored.value.held ? "saved page" : "stored"}</span>` : html`<span class="st ok hide-s"><${Icon} name="ok" />live</span>` : html`<span class="st bad" role="alert"><${Icon} name="off" />not connected</span>`}
    <a class=${`b quiet ${open ? "warn" : ""}`} href=${to("questions")}><${Icon} name="wait" /><span class="hide-s">Questions</span>${open > 0 && html`<span class="count">${open}</span>`}</a>
    <${Button} kind="quiet" icon="theme" label="Light or dark" onClick=${turn} />
    <a class="b quiet icon hide-s" href=${at && route.value.view === "session" ? toSession(at.app, at.id, "keys") : to("keys")} title="Keys" aria-label="Keys"><${Icon} name="q" /></a>
  </header>`;
}

/** The title of the session, which can be changed. @param {{ at: any }} props */
function Title({ at }) {
  const edits = useSignal(/** @type {string | null} */ (null));
  const title = titleOf(at);
  const save = async (/** @type {any} */ e) => { e.preventDefault(); const text = e.target.elements.title.value.trim(); if (!text || text === title || (await rename(text))) edits.value = null; };
  if (edits.value === at.id) return html`<form class="retitle" onSubmit=${save}><input name="title" aria-label="Title of the session" maxlength="120" value=${title} ref=${(/** @type {any} */ node) => node?.focus()}
    onKeyDown=${(/** @type {any} */ e) => { if (e.key === "Escape") { edits.value = null; e.stopPropagation(); } }} /><button type="submit" class="b">Save</button></form>`;
  return html`<h1 class="title cut"><bdi>${title}</bdi></h1>${!stored.value && html`<span class="hide-s"><${Button} kind="quiet" icon="edit" label="Change the title" onClick=${() => { edits.value = at.id; }} /></span>`}`;
}

/** Which agent: the others, and those that do not import. */
function Apps() {
  const found = apps.value;
  if (!found) return null;
  const names = found.apps.map((one) => one.name);
  const choose = (/** @type {any} */ e) => { session.value = null; go(toSession(e.target.value)); };
  return html`<label class="b quiet pick"><${Icon} name="agent" /><select aria-label="Agent" value=${app.value} onChange=${choose}>
    ${names.map((one) => html`<option value=${one}>${one}</option>`)}
    ${found.failed.map((one) => html`<option value=${one.name}>${one.name} (does not load)</option>`)}</select></label><${Users} />`;
}

/** Whose sessions: where several users have some. */
function Users() {
  const names = owners.value.filter((one) => one.appName === app.value).map((one) => one.userId);
  if (names.length < 2) return null;
  const choose = (/** @type {any} */ e) => { session.value = null; go(`#/sessions?user=${encodeURIComponent(e.target.value)}`); };
  return html`<label class="b quiet pick"><span class="q">of</span><select aria-label="User" value=${user.value} onChange=${choose}>
    ${names.map((one) => html`<option value=${one}>${one}</option>`)}</select></label>`;
}

/** @param {{ one: any }} props */
const Line = ({ one }) => html`<a class="ses" href=${toSession(app.value, one.id)} aria-current=${session.value?.id === one.id ? "page" : undefined} onClick=${() => { drawer.value = false; }}>
  <span class="cut"><bdi>${one.title || "Without words"}</bdi></span>
  <span class="m"><${Status} is=${one.status} /><span class="q">${ago(one.lastUpdateTime)}</span><span class="money">${one.cost == null ? "" : money(one.cost, one.incomplete)}</span></span></a>`;

function Side() {
  const view = route.value.view;
  const entry = (/** @type {string} */ name, /** @type {string} */ icon, /** @type {string} */ title, /** @type {any} */ end) =>
    html`<a class="n" href=${to(name)} aria-current=${view === name ? "page" : undefined}><${Icon} name=${icon} /><span class="grow">${title}</span>${end}</a>`;
  const find = (/** @type {any} */ e) => { if (e.key === "Enter") { go(to("sessions")); ask("q", e.target.value); } };
  return html`<nav class=${`side ${drawer.value ? "is-open" : ""}`} aria-label="Sessions">
    ${!stored.value?.held && html`<label class="f"><${Icon} name="search" /><input type="search" aria-label="Search all sessions" placeholder="Search all sessions" onKeyDown=${find} /><span class="key" aria-hidden="true">/</span></label>`}
    ${entry("sessions", "list", "Sessions", html`<span class="q num">${summaries.value?.total ?? ""}</span>`)}
    ${entry("questions", "q", "Questions", questions.value.length > 0 && html`<span class="count">${questions.value.length}</span>`)}
    ${!stored.value && entry("evaluation", "eval", "Evaluation", null)}
    ${!stored.value?.held && entry("composition", "plug", "Composition", null)}
    <h3><span>Latest of ${app.value}</span></h3>
    <div class="scroll" tabindex="0">${summaries.value?.sessions.map((one) => html`<${Line} key=${one.id} one=${one} />`)}
      ${summaries.value?.sessions.length === 0 && html`<p class="pad q2">${stored.value ? `No session of ${user.value}.` : "Sessions appear here. Write the first message."}</p>`}</div>
    ${!stored.value && html`<div class="new"><${Button} keys="n" onClick=${() => { drawer.value = false; go(toSession(app.value)); }}>New session<//></div>`}
  </nav>`;
}

/** Whether there is room for one column only: elsewhere a panel stands next to the conversation. */
const isNarrow = signal(false);
const narrow = matchMedia("(max-width: 640px)");
const measure = () => { isNarrow.value = narrow.matches; };
narrow.addEventListener("change", measure);
measure();

function Tabs() {
  const at = session.value;
  if (!at) return null;
  const named = route.value.panel || "run";
  const chosen = named === "talk" && !isNarrow.value ? "run" : named;
  const counts = /** @type {Record<string, any>} */ ({ events: events.value.length });
  const tab = (/** @type {any} */ one) => html`<a role="tab" href=${toSession(at.app, at.id, one.name)} title=${one.line} aria-selected=${String(chosen === one.name)}>${one.title}${counts[one.name] ? html` <span class="q">${counts[one.name]}</span>` : ""}</a>`;
  return html`<div class="tabs"><div class="in" role="tablist" aria-label="Panels">
    <a class="only-s" role="tab" href=${toSession(at.app, at.id, "talk")} aria-selected=${String(chosen === "talk")}>Conversation</a>
    ${PANELS.map(tab)}${extra.value.map((one) => html`<a role="tab" href=${toSession(at.app, at.id, "panel", one.name)} aria-selected=${String(chosen === "panel" && route.value.rest[0] === one.name)}>${one.title}</a>`)}</div><span class="grow"></span>
    <span class="hide-m hide-s mid"><${Button} kind="quiet" icon="wide" label="Hide the conversation: backslash" onClick=${() => { hidesTalk.value = !hidesTalk.value; }} /></span></div>`;
}

function Panel() {
  const name = route.value.panel === "talk" ? "run" : route.value.panel || "run";
  if (name === "panel") {
    const one = extra.value.find((each) => each.name === route.value.rest[0]);
    if (unread.value) return html`<${Reading} />`;
    return one ? html`<section aria-label=${one.title} key=${one.name}><${FirstVisit} panel=${one} /><${PluginPanel} panel=${one} /></section>` : null;
  }
  const panel = [...PANELS, ...HIDDEN].find((one) => one.name === name);
  if (name === "graph" && !apps.value) return null; // it asks at once, and there may be nobody to answer
  if (panel && stored.value && WITH_CODE.has(name)) return html`<section aria-label=${panel.title}><${NoCode} name=${panel.title} /></section>`;
  if (unread.value && name !== "events" && name !== "keys") return html`<${Reading} />`;
  if (!panel) return html`<${Empty} title="There is no such panel">The address names “${name}”. Choose one of the tabs.<//>`;
  return html`<section aria-label=${panel.title}><${FirstVisit} panel=${panel} /><${Opened} ...${panel} /></section>`;
}

/** What stands for a panel that counts over all events, until they are fetched. */
const Reading = () => html`<p class="pad q2 slow">Reading the earlier events: ${count(unread.value)} to go.</p>`;

/** Panels that need the code of the agent. */
const WITH_CODE = new Set(["chain", "graph", "replay"]);

/** What cannot be shown of a stored session, and how it can. @param {{ name: string }} props */
const NoCode = ({ name }) => html`<${Empty} title=${`${name} needs the agent`}>It is computed by the agent’s code, or recorded while it runs, and is not in what is stored.${stored.value && html` Serve the agent: <code>newel web AGENTS_DIR</code>, with <code>--sessions</code> for these sessions.`}<//>`;

/** That nothing can be changed here, and why. */
function ReadOnly() {
  const from = stored.value;
  if (!from) return null;
  return html`<${Note} kind="acc" icon="lock"><b>Read-only.</b> ${from.note ?? html`These sessions come from <code>${from.place}</code>, without the agent’s code: you can look at all that is stored, and export it.`}<//>`;
}

/** One line about a panel, until it is closed for good. @param {{ panel: any }} props */
function FirstVisit({ panel }) {
  let seen = true;
  try { seen = Boolean(localStorage.getItem(`newel.seen.${panel.name}`)); } catch { /* storage is off */ }
  if (seen || !panel.line) return null;
  const close = (/** @type {any} */ e) => { keep(`seen.${panel.name}`, "1"); e.currentTarget.closest(".note").remove(); };
  return html`<${Note} key=${panel.name} kind="acc" action=${html`<${Button} kind="quiet" icon="x" label="Do not show this line again" onClick=${close} />`}><b>${panel.title}:</b> ${panel.line}<//>`;
}

/** The view that is shown. Of stored sessions, one is chosen first. */
const viewOf = () => { const at = route.value; return stored.value && !at.session && at.view !== "questions" && at.view !== "composition" && at.view !== "evaluation" && at.view !== "keys" ? "sessions" : at.view; };

function Main() {
  const at = route.value, view = viewOf();
  if (apps.value && !apps.value.apps.length && stored.value) {
    return html`<main class="full"><${Empty} title="No session is stored here"><code>${stored.value.place}</code> holds no session yet. One that another process stores appears here.<//></main>`;
  }
  if (apps.value && !apps.value.apps.length && !apps.value.failed.length) {
    return html`<main class="full"><${Empty} title="No agent is here yet">Make one with <code>newel new agent my_agent</code> in the folder that is served, then reload this page.<//></main>`;
  }
  if (stored.value && view === "evaluation") return html`<main class="full"><section aria-label="evaluation"><${NoCode} name="Evaluation" /></section></main>`;
  if (VIEWS[view]) return html`<main class="full">${stored.value && html`<${ReadOnly} />`}<section aria-label=${view}><${Opened} name=${`view:${view}`} load=${VIEWS[view]} /></section></main>`;
  const broken = apps.value?.failed.find((one) => one.name === app.value);
  if (broken) return html`<main class="full"><${Note} kind="bad" icon="x" action=${html`<${Button} onClick=${loadApps}>Try again<//>`}><b>${broken.name} does not load.</b> <code>${broken.error ?? broken.detail}</code> Change the file, then try again.<//></main>`;
  if (missing.value) return html`<main class="full"><${Failure} error=${missing.value} /><div class="pad">${stored.value ? html`<a class="b" href=${to("sessions")}>Sessions</a>` : html`<a class="b" href=${toSession(app.value)}>New session</a>`}</div></main>`;
  return html`<${Talk} /><aside class="panel" aria-label="Panels"><${Tabs} /><${ReadOnly} />${session.value ? html`<${Panel} />` : html`<${Welcome} />`}</aside>`;
}

function Welcome() {
  const one = apps.value?.apps.find((each) => each.name === app.value);
  if (!one) return null;
  return html`<${Empty} title=${one.name}>${one.description || "An agent without a description."} Write a message: what happens to it appears here, step by step, with its price.<//>`;
}

const WIDE = new Set(["chain", "events", "state", "artifacts", "graph", "panel", "keys", "replay"]);

function Page() {
  const at = route.value;
  const full = Boolean(VIEWS[viewOf()]) || Boolean(missing.value);
  const talk = at.panel === "talk" || !at.panel;
  const classes = ["app", full && "is-full", (hidesTalk.value || at.panel === "replay") && "solo", WIDE.has(at.panel) && "wide", talk && "v-conversation"].filter(Boolean).join(" ");
  return html`<div class=${classes}><${Top} /><${Side} /><${Main} />${problem.value && connection.value === "live" && html`<div class="trouble"><${Failure} error=${problem.value} /></div>`}</div>`;
}

addEventListener("keydown", onKey);
begin();
early(route.value);
const page = /** @type {HTMLElement} */ (document.getElementById("page"));
page.replaceChildren(); // the empty shell, which was there before this module
render(html`<${Page} />`, page);
