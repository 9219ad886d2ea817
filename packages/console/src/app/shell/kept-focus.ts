// Keeps the focus on the page when what had it goes away: a dialog that closes, a row that is deleted, a bar that is done with.
// The browser would drop it, and people who use the keyboard or a screen reader would begin at the top again.
import { useEffect } from 'react';

/** So many elements that had the focus are remembered. */
const MOST = 20;
const FOCUSABLE = 'a[href], button, input, select, textarea, summary, label, [tabindex], [contenteditable]';

/** Returns the focus to the element that had it before and can still take it, or else to the heading of the page. */
export function useKeptFocus(): void {
  useEffect(() => {
    let trail: HTMLElement[] = [];
    let isDropped = false;
    const remember = ({ target }: FocusEvent): void => {
      if (!(target instanceof HTMLElement)) return;
      trail = [...trail.filter((one) => one !== target && one.isConnected), target].slice(-MOST);
      isDropped = false;
    };
    // A click on plain text takes the focus away on purpose.
    const drop = ({ target }: PointerEvent): void => {
      isDropped = target instanceof Element && !target.closest(FOCUSABLE);
    };
    const restore = (): void => {
      if (isDropped || trail.at(-1)?.isConnected !== false || document.activeElement !== document.body)
        return;
      // A dialog or menu that is open takes the focus itself.
      if (document.querySelector('[role="dialog"], [role="menu"]')) return;
      for (const one of [...trail.toReversed(), document.querySelector('h1')]) {
        one?.focus({ preventScroll: true });
        if (document.activeElement === one) return;
      }
    };
    const observer = new MutationObserver(restore);
    document.addEventListener('focusin', remember);
    document.addEventListener('pointerdown', drop);
    observer.observe(document.body, { childList: true, subtree: true });
    return () => {
      document.removeEventListener('focusin', remember);
      document.removeEventListener('pointerdown', drop);
      observer.disconnect();
    };
  }, []);
}
