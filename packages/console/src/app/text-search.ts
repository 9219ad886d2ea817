// Searches within what a page has loaded, in the way in which the service searches people. It must not ask the service.

/** Letters and signs that Unicode does not decompose. */
const plain: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', þ: 'th', ø: 'o', ł: 'l', đ: 'd', ð: 'd', ı: 'i', ħ: 'h', ŧ: 't', ς: 'σ' },
  ...{ '‘': "'", '’': "'", ʼ: "'", '′': "'", '‐': '-', '‒': '-', '–': '-', '—': '-', '−': '-' },
};

/** Returns the text without case, accents and ligatures, with plain apostrophes and hyphens. */
const fold = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^\0-\x7f]/g, (one) => plain[one] ?? one);

/** Returns whether a text contains each word of `typed`, in any order. Nothing typed is in every text. */
export function searchFor(typed: string): (text: string) => boolean {
  const words = fold(typed)
    .split(/[\s,]+/)
    .filter((word) => word !== '');
  return (text) => {
    const folded = fold(text);
    return words.every((word) => folded.includes(word));
  };
}
