// Keeps the focus where the person works when the element that has it disappears or is disabled. Otherwise it falls to the
// body, and keyboards and screen readers begin again at the top of the page.
// It must not take the focus from anything that has it, nor back from where the person has put it.

type Place = {
  element: HTMLElement;
  /** Every ancestor with the position of the element in it, the nearest first. */
  trail: readonly { parent: Element; index: number }[];
  dialog: Element | null;
};

/** Not times, which only show their exact moment. */
const FOCUSABLE =
  'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), [tabindex="0"]:not(time)';

/** The library moves the focus into and out of these. */
const MENU = '[role="menu"], [role="listbox"]';

/** When one of its entries goes, the next one is where the person goes on. */
const LIST = 'ul, ol, tbody, [role="list"], [role="rowgroup"], [role="tree"], [role="group"]';

/** So many places that had the focus are remembered. */
const MOST = 20;

/** Begins to watch the document. */
export function keepFocus(): void {
  let last: Place | null = null;
  let earlier: Place[] = [];
  document.addEventListener('focusin', ({ target }) => {
    if (!(target instanceof HTMLElement) || target.closest(MENU)) return;
    last = placeOf(target);
    // A page that is gone must not stay in memory.
    const kept = earlier.filter(
      (one) => one.element !== target && (one.element.isConnected || wasInList(one)),
    );
    earlier = [...kept, last].slice(-MOST);
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
    if (!last || !hasFallen() || isWaiting(last.element) || isMenuOpen()) return;
    findNext(last, earlier)?.focus({ preventScroll: true });
  };
  const observer = new MutationObserver(() => {
    if (isDue || !last || !hasFallen()) return;
    isDue = true;
    // Everything else that moves the focus does so first, such as the heading of another page.
    requestAnimationFrame(() => setTimeout(restore));
  });
  observer.observe(document.body, { childList: true, subtree: true, attributeFilter: ['disabled'] });
}

const hasFallen = (): boolean => !document.activeElement || document.activeElement === document.body;

/** A closed list may stay in the document, hidden. */
const isMenuOpen = (): boolean => [...document.querySelectorAll(MENU)].some((menu) => menu.checkVisibility());

/** A button is disabled while its request runs; then the focus returns to it. */
const isWaiting = (element: Element): boolean =>
  element.isConnected && element.matches(':disabled[data-loading]');

const canHold = (element: Element): element is HTMLElement =>
  element instanceof HTMLElement &&
  !element.matches(':disabled') &&
  element.checkVisibility({ visibilityProperty: true });

function placeOf(element: HTMLElement): Place {
  const trail: { parent: Element; index: number }[] = [];
  for (let child: Element = element; child.parentElement; child = child.parentElement)
    trail.push({ parent: child.parentElement, index: [...child.parentElement.children].indexOf(child) });
  return { element, trail, dialog: element.closest('[role="dialog"]') };
}

/**
 * Returns the neighbour of an entry that is gone; otherwise what had the focus before, in the same dialog while that is open;
 * otherwise the heading of the page. If the dialog is gone and what had the focus before it is such an entry, another one of
 * that list.
 */
function findNext(place: Place, earlier: readonly Place[]): HTMLElement | null {
  const isOpen = place.dialog?.isConnected ?? false;
  const before = earlier.filter(({ dialog }) => !isOpen || dialog === place.dialog).reverse();
  for (const one of [place, ...before]) {
    if (canHold(one.element)) return one.element;
    if (!wasInList(one)) continue;
    if (one === place) return neighbour(remaining(one)) ?? document.querySelector('h1');
    const found = place.dialog && !isOpen ? neighbour(remaining(one).slice(0, 1)) : null;
    if (found) return found;
  }
  return (isOpen ? neighbour(remaining(place)) : null) ?? document.querySelector('h1');
}

const remaining = ({ trail }: Place): Place['trail'] =>
  trail.filter(({ parent }) => parent.isConnected && parent !== document.body);

/** Whether the element was in an entry that is gone, of a list that is still there. */
const wasInList = (place: Place): boolean => remaining(place)[0]?.parent.matches(LIST) ?? false;

/** Returns what took the place of the element, or what stands nearest to it. */
function neighbour(trail: Place['trail']): HTMLElement | null {
  for (const { parent, index } of trail) {
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
  return null;
}
