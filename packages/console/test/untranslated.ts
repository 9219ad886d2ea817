// Finds texts that no catalogue of messages has. The language en-XB puts its texts in brackets; what has none is data, or
// was forgotten.
import type { Page } from 'playwright-core';

/**
 * Returns the visible texts and accessible names without brackets, except those that are part of a response of the service
 * (`known`), times, and elements marked `data-raw`, `code` or `.mono`, which show names as they are.
 */
export async function untranslatedTexts(page: Page, known: readonly string[]): Promise<string[]> {
  const texts = await page.evaluate<string[]>(collect);
  const data = known.join('\n').toLowerCase();
  return texts.filter((text) => {
    const words = text.match(/\p{L}[\p{L}\p{N}._@-]*/gu) ?? [];
    return words.some((word) => !data.includes(word.toLowerCase()));
  });
}

/** Runs in the page. */
const collect = `(() => {
  const skipped = 'time, code, kbd, .mono, [data-raw], script, style, noscript, [lang]:not(html), textarea[aria-hidden]';
  const attributes = ['aria-label', 'placeholder', 'title', 'alt'];
  const found = [];
  const outside = (text) => text.replaceAll(/\\u27e6(?:[^\\u27e6\\u27e7]|\\u27e6[^\\u27e7]*\\u27e7)*\\u27e7/g, ' ').replaceAll(/[\\u27e6\\u27e7]/g, ' ').trim();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node instanceof Element) {
      if (node.closest(skipped)) continue;
      for (const name of attributes) {
        const text = outside(node.getAttribute(name) ?? '');
        if (/\\p{L}/u.test(text)) found.push(text);
      }
    } else if (!node.parentElement.closest(skipped)) {
      const text = outside(node.textContent);
      if (/\\p{L}/u.test(text)) found.push(text);
    }
  }
  return [...new Set(found)];
})()`;
