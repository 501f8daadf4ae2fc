/** Words that differ between two texts on the page, marked where they stand: the elements themselves stay as they are. */

/** The most pairs of words that are compared; above that, all between the common beginning and end has changed. */
const MOST = 4_000_000;

/** Mark the words that one element has and the other has not. @param {Element} before @param {Element} after */
export function markChanges(before, after) {
  if (!("highlights" in CSS)) return;
  const old = wordsIn(before), own = wordsIn(after);
  const { gone, added } = changedWords(old.map(String), own.map(String));
  CSS.highlights.set("gone", new Highlight(...gone.map((n) => old[n])));
  CSS.highlights.set("added", new Highlight(...added.map((n) => own[n])));
}

/** Mark nothing. */
export function forgetChanges() {
  if (!("highlights" in CSS)) return;
  CSS.highlights.delete("gone");
  CSS.highlights.delete("added");
}

/** @param {Element} element */
function wordsIn(element) {
  const found = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (const word of (node.textContent ?? "").matchAll(/\S+/g)) {
      const range = new Range();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      found.push(range);
    }
  }
  return found;
}

/** The places of the words that are not in the longest common sequence of both. @param {string[]} old @param {string[]} own */
export function changedWords(old, own) {
  let start = 0, end = 0;
  while (start < old.length && start < own.length && old[start] === own[start]) start += 1;
  while (end < old.length - start && end < own.length - start && old[old.length - 1 - end] === own[own.length - 1 - end]) end += 1;
  const rows = old.length - end - start, width = own.length - end - start + 1;
  /** @type {number[]} */
  const gone = [], added = [];
  const isSmall = rows * width <= MOST;
  // The length of the longest common sequence of what follows, for each pair of places.
  const lengths = new Uint32Array(isSmall ? (rows + 1) * width : 0);
  for (let a = rows - 1; isSmall && a >= 0; a -= 1) {
    for (let b = width - 2; b >= 0; b -= 1) {
      lengths[a * width + b] = old[start + a] === own[start + b] ? lengths[(a + 1) * width + b + 1] + 1 : Math.max(lengths[(a + 1) * width + b], lengths[a * width + b + 1]);
    }
  }
  let a = 0, b = 0;
  while (a < rows || b < width - 1) {
    if (isSmall && a < rows && b < width - 1 && old[start + a] === own[start + b]) { a += 1; b += 1; }
    else if (a < rows && (b === width - 1 || !isSmall || lengths[(a + 1) * width + b] >= lengths[a * width + b + 1])) { gone.push(start + a); a += 1; }
    else { added.push(start + b); b += 1; }
  }
  return { gone, added };
}
