/** Markdown as elements. No HTML of a text is ever set, so nothing in it can run. */
import { html } from "../vendor/preact.js";
import { CopyButton } from "./ui.js";

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const LIST = /^( *)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const RULE = /^ {0,3}([-*_])( *\1){2,}\s*$/;
const SAFE = /^(https?:|mailto:)/i;

/** A text's blocks. @param {string} text */
export function markdown(text) {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    const [block, next] = blockAt(lines, at);
    if (block) blocks.push(block);
    at = Math.max(next, at + 1);
  }
  return blocks;
}

const BREAK = /\r\n?|\n/g;

/**
 * Markdown of a text that grows: blocks that have ended are kept, and only the last ones are read again.
 * @returns {(text: string) => any[]}
 */
export function growingMarkdown() {
  /** @type {any[]} */
  const kept = [];
  let from = 0;
  return (text) => {
    const lines = text.slice(from).split(BREAK);
    /** @type {any[]} */
    const open = [];
    let at = 0, ended = 0;
    while (at < lines.length) {
      const [block, next] = blockAt(lines, at);
      at = Math.max(next, at + 1);
      // Where a block ends depends on two lines after it, and the text's last line may not be whole.
      const hasEnded = !open.length && at + 2 < lines.length;
      if (hasEnded) ended = at;
      if (block) (hasEnded ? kept : open).push(block);
    }
    BREAK.lastIndex = from;
    for (; ended > 0; ended -= 1) BREAK.test(text);
    from = BREAK.lastIndex;
    return [...kept, ...open];
  };
}

/** @param {string[]} lines @param {number} at @returns {[any, number]} */
function blockAt(lines, at) {
  const line = lines[at];
  if (!line.trim()) return [null, at + 1];
  const fence = FENCE.exec(line);
  if (fence) return fenced(lines, at, fence[1], fence[2]);
  const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/.exec(line);
  if (heading) return [html`<p class="md-h"><b>${inline(heading[2])}</b></p>`, at + 1];
  if (RULE.test(line)) return [html`<hr />`, at + 1];
  if (/^ {0,3}>/.test(line)) return quoted(lines, at);
  if (LIST.test(line)) return listed(lines, at);
  if (line.includes("|") && /^[\s|:-]*-[\s|:-]*$/.test(lines[at + 1] ?? "") && (lines[at + 1] ?? "").includes("|")) return tabled(lines, at);
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !FENCE.test(lines[end]) && !LIST.test(lines[end]) && !/^ {0,3}(#{1,6}\s|>)/.test(lines[end])) end += 1;
  return [html`<p>${broken(lines.slice(at, end))}</p>`, end];
}

/** Lines with breaks between them. @param {string[]} lines */
const broken = (lines) => lines.flatMap((one, n) => (n ? [html`<br />`, ...inline(one)] : inline(one)));

/** @param {string[]} lines @param {number} at @param {string} fence @param {string} language @returns {[any, number]} */
function fenced(lines, at, fence, language) {
  let end = at + 1;
  while (end < lines.length && !lines[end].trim().startsWith(fence)) end += 1;
  const code = lines.slice(at + 1, end).join("\n");
  const head = html`<figcaption><span class="q">${language}</span><${CopyButton} text=${code} label="Copy the code" /></figcaption>`;
  return [html`<figure class="code">${head}<pre tabindex="0"><code>${code}</code></pre></figure>`, end + 1];
}

/** @param {string[]} lines @param {number} at @returns {[any, number]} */
function quoted(lines, at) {
  let end = at;
  const inner = [];
  while (end < lines.length && /^ {0,3}>/.test(lines[end])) inner.push(lines[end++].replace(/^ {0,3}> ?/, ""));
  return [html`<blockquote>${markdown(inner.join("\n"))}</blockquote>`, end];
}

/** @param {string[]} lines @param {number} at @returns {[any, number]} */
function listed(lines, at) {
  const first = /** @type {RegExpExecArray} */ (LIST.exec(lines[at]));
  const depth = first[1].length, ordered = /\d/.test(first[2]);
  /** @type {string[][]} */
  const items = [];
  let end = at;
  for (; end < lines.length; end++) {
    const item = LIST.exec(lines[end]);
    if (item && item[1].length <= depth + 1) {
      if (/\d/.test(item[2]) !== ordered || item[1].length < depth) break;
      items.push([item[3]]);
    } else if (lines[end].trim() && (item || /^ {2,}/.test(lines[end]) || lines[end - 1]?.trim())) {
      items[items.length - 1].push(lines[end].replace(/^ {1,4}/, ""));
    } else if (lines[end].trim() || !LIST.test(lines[end + 1] ?? "")) break;
  }
  const made = items.map((one) => html`<li>${one.length > 1 ? [...inline(one[0]), ...markdown(one.slice(1).join("\n"))] : inline(one[0])}</li>`);
  return [ordered ? html`<ol start=${Number.parseInt(first[2], 10)}>${made}</ol>` : html`<ul>${made}</ul>`, end];
}

/** @param {string[]} lines @param {number} at @returns {[any, number]} */
function tabled(lines, at) {
  const cells = (/** @type {string} */ line) => line.trim().replace(/^\||\|$/g, "").split("|").map((one) => one.trim());
  let end = at + 2;
  const rows = [];
  while (end < lines.length && lines[end].includes("|")) rows.push(cells(lines[end++]));
  const head = cells(lines[at]).map((one) => html`<th>${inline(one)}</th>`);
  const body = rows.map((row) => html`<tr>${row.map((one) => html`<td>${inline(one)}</td>`)}</tr>`);
  return [html`<div class="md-table"><table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>`, end];
}

const INLINE = /(`+)([\s\S]*?[^`])\1(?!`)|\*\*([\s\S]+?)\*\*|__([\s\S]+?)__|\*([^\s*][^*]*?)\*|(?<![\w])_([^\s_][^_]*?)_(?![\w])|~~([\s\S]+?)~~|!?\[([^\]]*)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)|(https?:\/\/[^\s<>"')\]]+)/;

/** A line's words: code, bold, italic, links to the web. @param {string} text @returns {any[]} */
function inline(text) {
  const made = [];
  let rest = text;
  for (let found = INLINE.exec(rest); found; found = INLINE.exec(rest)) {
    if (found.index) made.push(rest.slice(0, found.index));
    made.push(element(found));
    rest = rest.slice(found.index + found[0].length);
  }
  if (rest) made.push(rest);
  return made;
}

/** @param {RegExpExecArray} found */
function element(found) {
  const [whole, , code, bold, bold2, italic, italic2, struck, label, target, bare] = found;
  if (code !== undefined) return html`<code>${code}</code>`;
  if (bold ?? bold2) return html`<b>${inline(bold ?? bold2)}</b>`;
  if (italic ?? italic2) return html`<i>${inline(italic ?? italic2)}</i>`;
  if (struck) return html`<s>${inline(struck)}</s>`;
  const url = bare ?? target;
  if (!SAFE.test(url)) return whole;
  return html`<a href=${url} target="_blank" rel="noopener noreferrer nofollow">${bare ?? (label || url)}</a>`;
}
