// Finds what does not fit on a page: sideways scroll, boxes with a scroll of their own, cut texts, squeezed icons.
import type { Page } from 'playwright-core';

/**
 * What is one of a kind and may scroll in itself: the matrix is a table in two dimensions, the reference a library's. The text of
 * a button that waits makes room for a spinner.
 */
const EXEMPT = '.matrix-region, .reference, button[data-loading]';

/**
 * Returns a line for each fault. Texts that are part of a response of the service (`known`) may end in an ellipsis: they are
 * data of any length. Below 768 px, nothing that stands inside a page scrolls by itself.
 */
export async function layoutFaults(page: Page, known: readonly string[] = []): Promise<string[]> {
  const faults = await page.evaluate<{ kind: string; where: string; text: string }[]>(collect);
  const data = known.join('\n').toLowerCase();
  const isData = (text: string): boolean =>
    (text.match(/[\p{L}\p{N}._@-]+/gu) ?? []).every((word) => data.includes(word.toLowerCase()));
  return faults
    .filter(({ kind, text }) => !/ellipsis|word/.test(kind) || !isData(text))
    .map(({ kind, where, text }) => `${kind}: ${where} ${text}`.trim());
}

/** Runs in the page. */
const collect = `(() => {
  const found = [];
  const root = document.documentElement;
  const nameOf = (element) => {
    const parts = [];
    for (let at = element; at && at !== document.body && parts.length < 3; at = at.parentElement)
      parts.unshift(at.localName + [...at.classList].filter((one) => !one.startsWith('m_')).map((one) => '.' + one).join(''));
    return parts.join(' > ');
  };
  const add = (kind, element, text = '') => found.push({ kind, where: nameOf(element), text: text.trim().slice(0, 200) });
  if (root.scrollWidth > root.clientWidth)
    found.push({ kind: 'the page scrolls sideways', where: (root.scrollWidth - root.clientWidth) + ' px', text: '' });
  const isFloating = (element) => {
    for (let at = element; at; at = at.parentElement) if (getComputedStyle(at).position === 'fixed') return true;
    return false;
  };
  for (const element of document.body.querySelectorAll('*')) {
    if (element.closest('.visually-hidden, [inert], svg *, ${EXEMPT}') || !element.checkVisibility({ visibilityProperty: true })) continue;
    const box = element.getBoundingClientRect();
    if (element.localName === 'svg') {
      const wanted = Number(element.getAttribute('width'));
      if (wanted > 0 && Math.abs(box.width - wanted) > 1) add('a squeezed icon', element, box.width.toFixed(1) + ' px');
      continue;
    }
    if (box.width <= 2 || box.height <= 2) continue;
    const { overflowX, overflowY, textOverflow } = getComputedStyle(element);
    const wide = element.scrollWidth - element.clientWidth;
    const high = element.scrollHeight - element.clientHeight;
    const scrolls = (overflow) => overflow === 'auto' || overflow === 'scroll';
    const hides = (overflow) => overflow === 'hidden' || overflow === 'clip';
    if (innerWidth < 768 && ((scrolls(overflowX) && wide > 1) || (scrolls(overflowY) && high > 1)) && !isFloating(element))
      add('a box that scrolls', element);
    if (!element.textContent.trim() || !element.clientWidth) continue;
    if (hides(overflowX) && wide > 1)
      add(textOverflow === 'ellipsis' ? 'cut with an ellipsis' : 'cut', element, element.textContent);
    if (hides(overflowY) && high > 2) add('cut in height', element, element.textContent);
  }
  // A word in two lines that has no place to be divided.
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (parent.closest('.visually-hidden, [inert], script, style, noscript, ${EXEMPT}') || !parent.checkVisibility({ visibilityProperty: true })) continue;
    for (const { 0: word, index } of node.data.matchAll(/[\\p{L}\\p{N}]{4,}/gu)) {
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const tops = new Set([...range.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => Math.round(top)));
      if (tops.size > 1) found.push({ kind: 'a broken word', where: nameOf(parent), text: word });
    }
  }
  return found;
})()`;
