// Tells screen readers what changed without a change of focus: counts of results, outcomes.

const ELEMENT = 'announcer';

/** Replaces the last announcement. */
export function announce(text: string): void {
  const element = document.getElementById(ELEMENT);
  if (!element) return;
  // The same text twice is announced twice.
  element.textContent = '';
  setTimeout(() => {
    element.textContent = text;
  }, 50);
}
