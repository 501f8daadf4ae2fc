/** The page: the grid, the bar on top, the side, the tabs. */
import { html, render } from "../vendor/preact.js";
import { money, ago } from "./format.js";
import { onKey } from "./keys.js";
import { PluginPanel } from "./element.js";
import { extra, HIDDEN, Opened, PANELS, VIEWS } from "./panels.js";
import { ask, go, route, to, toSession } from "./route.js";
import {
  app, apps, begin, connection, drawer, events, hidesTalk, keep, loadApps, missing, problem, questions, session, summaries, theme, titleOf,
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
    ${at && route.value.view === "session" && html`<span class="sep hide-s"></span><h1 class="title cut"><bdi>${titleOf(at)}</bdi></h1>
      <span class="hide-m hide-s"><${Id} id=${at.id} /></span><span class="hide-m hide-s"><${CopyButton} text=${link} label="Copy the link of this session" /></span>`}
    <span class="grow"></span>
    ${connection.value === "live" ? html`<span class="st ok hide-s"><${Icon} name="ok" />live</span>` : html`<span class="st bad" role="alert"><${Icon} name="off" />not connected</span>`}
    <a class=${`b quiet ${open ? "warn" : ""}`} href=${to("questions")}><${Icon} name="wait" /><span class="hide-s">Questions</span>${open > 0 && html`<span class="count">${open}</span>`}</a>
    <${Button} kind="quiet" icon="theme" label="Light or dark" onClick=${turn} />
  </header>`;
}

/** Which agent: the others, and those that do not import. */
function Apps() {
  const found = apps.value;
  if (!found) return null;
  const names = found.apps.map((one) => one.name);
  const choose = (/** @type {any} */ e) => { session.value = null; go(toSession(e.target.value)); };
  return html`<label class="b quiet pick"><${Icon} name="agent" /><select aria-label="Agent" value=${app.value} onChange=${choose}>
    ${names.map((one) => html`<option value=${one}>${one}</option>`)}
    ${found.failed.map((one) => html`<option value=${one.name}>${one.name} (does not load)</option>`)}</select></label>`;
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
    <label class="f"><${Icon} name="search" /><input type="search" aria-label="Search all sessions" placeholder="Search all sessions" onKeyDown=${find} /><span class="key" aria-hidden="true">/</span></label>
    ${entry("sessions", "list", "Sessions", html`<span class="q num">${summaries.value?.total ?? ""}</span>`)}
    ${entry("questions", "q", "Questions", questions.value.length > 0 && html`<span class="count">${questions.value.length}</span>`)}
    ${entry("evaluation", "eval", "Evaluation", null)}
    ${entry("composition", "plug", "Composition", null)}
    <h3><span>Latest of ${app.value}</span></h3>
    <div class="scroll" tabindex="0">${summaries.value?.sessions.map((one) => html`<${Line} key=${one.id} one=${one} />`)}
      ${summaries.value?.sessions.length === 0 && html`<p class="pad q2">Sessions appear here. Write the first message.</p>`}</div>
    <div class="new"><${Button} keys="n" onClick=${() => { drawer.value = false; go(toSession(app.value)); }}>New session<//></div>
  </nav>`;
}

function Tabs() {
  const at = session.value;
  if (!at) return null;
  const chosen = route.value.panel || "run";
  const counts = /** @type {Record<string, any>} */ ({ events: events.value.length });
  const tab = (/** @type {any} */ one) => html`<a role="tab" href=${toSession(at.app, at.id, one.name)} aria-selected=${String(chosen === one.name)}>${one.title}${counts[one.name] ? html` <span class="q">${counts[one.name]}</span>` : ""}</a>`;
  return html`<div class="tabs"><div class="in" role="tablist" aria-label="Panels">
    <a class="only-s" role="tab" href=${toSession(at.app, at.id, "talk")} aria-selected=${String(chosen === "talk")}>Conversation</a>
    ${PANELS.map(tab)}${extra.value.map((one) => html`<a role="tab" href=${toSession(at.app, at.id, "panel", one.name)} aria-selected=${String(chosen === "panel" && route.value.rest[0] === one.name)}>${one.title}</a>`)}</div><span class="grow"></span>
    <span class="hide-m hide-s mid"><${Button} kind="quiet" icon="wide" label="Hide the conversation: backslash" onClick=${() => { hidesTalk.value = !hidesTalk.value; }} /></span></div>`;
}

function Panel() {
  const name = route.value.panel === "talk" ? "run" : route.value.panel || "run";
  if (name === "panel") {
    const one = extra.value.find((each) => each.name === route.value.rest[0]);
    return one ? html`<section aria-label=${one.title} key=${one.name}><${FirstVisit} panel=${one} /><${PluginPanel} panel=${one} /></section>` : null;
  }
  const panel = [...PANELS, ...HIDDEN].find((one) => one.name === name);
  if (!panel) return html`<${Empty} title="There is no such panel">The address names “${name}”. Choose one of the tabs.<//>`;
  return html`<section aria-label=${panel.title}><${FirstVisit} panel=${panel} /><${Opened} ...${panel} /></section>`;
}

/** One line about a panel, until it is closed for good. @param {{ panel: any }} props */
function FirstVisit({ panel }) {
  let seen = true;
  try { seen = Boolean(localStorage.getItem(`newel.seen.${panel.name}`)); } catch { /* storage is off */ }
  if (seen || !panel.line) return null;
  const close = (/** @type {any} */ e) => { keep(`seen.${panel.name}`, "1"); e.currentTarget.closest(".note").remove(); };
  return html`<${Note} key=${panel.name} kind="acc" action=${html`<${Button} kind="quiet" icon="x" label="Do not show this line again" onClick=${close} />`}><b>${panel.title}:</b> ${panel.line}<//>`;
}

function Main() {
  const at = route.value;
  if (apps.value && !apps.value.apps.length && !apps.value.failed.length) {
    return html`<main class="full"><${Empty} title="No agent is here yet">Make one with <code>newel new my_agent</code> in the folder that is served, then reload this page.<//></main>`;
  }
  if (VIEWS[at.view]) return html`<main class="full"><section aria-label=${at.view}><${Opened} name=${`view:${at.view}`} load=${VIEWS[at.view]} /></section></main>`;
  const broken = apps.value?.failed.find((one) => one.name === app.value);
  if (broken) return html`<main class="full"><${Note} kind="bad" icon="x" action=${html`<${Button} onClick=${loadApps}>Try again<//>`}><b>${broken.name} does not load.</b> <code>${broken.error ?? broken.detail}</code> Change the file, then try again.<//></main>`;
  if (missing.value) return html`<main class="full"><${Failure} error=${missing.value} /><div class="pad"><a class="b" href=${toSession(app.value)}>New session</a></div></main>`;
  return html`<${Talk} /><aside class="panel" aria-label="Panels"><${Tabs} />${session.value ? html`<${Panel} />` : html`<${Welcome} />`}</aside>`;
}

function Welcome() {
  const one = apps.value?.apps.find((each) => each.name === app.value);
  if (!one) return null;
  return html`<${Empty} title=${one.name}>${one.description || "An agent without a description."} Write a message: what happens to it appears here, step by step, with its price.<//>`;
}

const WIDE = new Set(["chain", "events", "state", "artifacts", "graph", "panel", "keys"]);

function Page() {
  const at = route.value;
  const full = Boolean(VIEWS[at.view]) || Boolean(missing.value);
  const talk = at.panel === "talk" || !at.panel;
  const classes = ["app", full && "is-full", hidesTalk.value && "solo", WIDE.has(at.panel) && "wide", talk && "v-conversation"].filter(Boolean).join(" ");
  return html`<div class=${classes}><${Top} /><${Side} /><${Main} />${problem.value && connection.value === "live" && html`<div class="trouble"><${Failure} error=${problem.value} /></div>`}</div>`;
}

addEventListener("keydown", onKey);
begin();
render(html`<${Page} />`, /** @type {HTMLElement} */ (document.getElementById("page")));
