/** Custom elements: how a panel of the page becomes one, and how the page holds those of plugins. */
import { html, render, useEffect, useRef, useSignal } from "../vendor/preact.js";
import { BASE } from "./api.js";
import { events, session, user } from "./store.js";
import { Failure } from "./ui.js";

/** Where the module of a panel is: next to the page's own, so that it imports the same. @param {any} panel */
const moduleOf = (panel) => new URL(`../panels/${encodeURIComponent(panel.name)}.js`, import.meta.url).href;

/** Define an element that draws a component. @param {string} name @param {any} component */
export function define(name, component) {
  if (customElements.get(name)) return;
  customElements.define(name, class extends HTMLElement {
    connectedCallback() { render(html`<${component} />`, this); }
    disconnectedCallback() { render(null, this); }
  });
}

/** The panel of a plugin: what fails in it stays in it, and is named. @param {{ panel: any }} props */
export function PluginPanel({ panel }) {
  const host = useRef(/** @type {any} */ (null));
  const failed = useSignal(/** @type {any} */ (null));
  const at = session.value;
  const list = events.value;
  /** @param {any} element */
  const give = (element) => {
    element.session = at && { app: at.app, user: user.value, id: at.id, state: at.state };
    element.events = list;
    element.base = BASE;
  };
  useEffect(() => {
    let gone = false;
    failed.value = null;
    const make = async () => {
      await import(moduleOf(panel));
      if (!customElements.get(panel.element)) throw new Error(`its module does not define the element ${panel.element}`);
      if (gone) return;
      const element = document.createElement(panel.element);
      give(element);
      host.current.replaceChildren(element);
    };
    const note = (/** @type {any} */ error) => { failed.value = error; };
    const wrong = (/** @type {ErrorEvent} */ e) => { if (e.filename === moduleOf(panel)) note(e.error ?? new Error(e.message)); };
    addEventListener("error", wrong);
    make().catch(note);
    return () => { gone = true; removeEventListener("error", wrong); };
  }, [panel.name, at?.id]);
  useEffect(() => {
    const element = host.current?.firstElementChild;
    if (element) try { give(element); } catch (error) { failed.value = error; }
  }, [at, list]);
  const error = failed.value && { title: `The panel ${panel.title} of ${panel.source} failed.`, message: `${failed.value.message ?? failed.value} Without it: disable: [${panel.plugin}]` };
  return html`${error && html`<${Failure} error=${error} />`}<div class="plugin" ref=${host} hidden=${Boolean(error)}></div>`;
}
