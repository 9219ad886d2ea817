// Keeps the focus where the person works when the element that has it disappears or is disabled. Otherwise it falls to the
// body, and keyboards and screen readers begin again at the top of the page.
// It must not take the focus from anything that has it, nor back from where the person has put it.

type Place = {
  element: HTMLElement;
  /** Every ancestor with the position of the element in it, the nearest first. */
  trail: readonly { parent: Element; index: number }[];
  dialog: Element | null;
  /** Where the focus was before the dialog opened. */
  before: Place | null;
};

const FOCUSABLE =
  'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), [tabindex="0"]';

/** The library moves the focus into and out of these. */
const MENU = '[role="menu"], [role="listbox"]';

/** Begins to watch the document. */
export function keepFocus(): void {
  let last: Place | null = null;
  document.addEventListener('focusin', ({ target }) => {
    if (target instanceof HTMLElement) last = target.closest(MENU) ? null : placeOf(target, last);
  });
  document.addEventListener('focusout', ({ relatedTarget, target }) => {
    // Somebody clicked beside everything. The browser may also send this when it removes the element.
    queueMicrotask(() => {
      if (relatedTarget === null && last?.element === target && canHold(last.element)) last = null;
    });
  });
  let isDue = false;
  const restore = (): void => {
    isDue = false;
    if (!last || !hasFallen() || isWaiting(last.element)) return;
    findNear(last)?.focus({ preventScroll: true });
  };
  const observer = new MutationObserver(() => {
    if (isDue || !last || !hasFallen()) return;
    isDue = true;
    // Whoever else wants to move the focus does so first, such as the heading of another page.
    requestAnimationFrame(() => setTimeout(restore));
  });
  observer.observe(document.body, { childList: true, subtree: true, attributeFilter: ['disabled'] });
}

const hasFallen = (): boolean => !document.activeElement || document.activeElement === document.body;

/** A button is disabled while its request runs; then the focus returns to it. */
const isWaiting = (element: Element): boolean =>
  element.isConnected && element.matches(':disabled[data-loading]');

const canHold = (element: Element): element is HTMLElement =>
  element instanceof HTMLElement &&
  !element.matches(':disabled') &&
  element.checkVisibility({ visibilityProperty: true });

function placeOf(element: HTMLElement, last: Place | null): Place {
  const trail: { parent: Element; index: number }[] = [];
  for (let child: Element = element; child.parentElement; child = child.parentElement)
    trail.push({ parent: child.parentElement, index: [...child.parentElement.children].indexOf(child) });
  const dialog = element.closest('[role="dialog"]');
  const before = dialog === (last?.dialog ?? null) ? (last?.before ?? null) : dialog ? last : null;
  return { element, trail, dialog, before };
}

/** Returns what took the place of the element, or what stood nearest to it; of a closed dialog, what opened it. */
function findNear({ element, trail, dialog, before }: Place): HTMLElement | null {
  if (canHold(element)) return element;
  if (dialog && !dialog.isConnected && before) return findNear(before);
  for (const { parent, index } of trail) {
    if (!parent.isConnected || parent === document.body) continue;
    const children = [...parent.children];
    const nearest = [
      ...children.slice(index, index + 1),
      ...children.slice(0, index).reverse(),
      ...children.slice(index + 1),
    ];
    for (const child of nearest) {
      const inside = [child, ...child.querySelectorAll(FOCUSABLE)];
      const found = inside.find((one) => one.matches(FOCUSABLE) && canHold(one));
      if (found instanceof HTMLElement) return found;
    }
    if (parent.matches('main')) break;
  }
  return document.querySelector('h1');
}
