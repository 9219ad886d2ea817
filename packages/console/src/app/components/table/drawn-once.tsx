// Elements of rows, made again only when what they show has changed.
import { type ReactElement, useRef } from 'react';

/**
 * Returns a function that makes the element of a row, and returns the same element while nothing that it shows has changed:
 * React then skips the row. (`memo` would lose the type of the row.)
 */
export function useDrawnOnce(): <P extends object>(
  key: string,
  parts: P,
  Draw: (parts: P) => ReactElement,
) => ReactElement {
  const drawn = useRef(new Map<string, { parts: object; Draw: unknown; element: ReactElement }>());
  return (key, parts, Draw) => {
    const last = drawn.current.get(key);
    if (last && last.Draw === Draw && isSame(last.parts, parts)) return last.element;
    const element = <Draw key={key} {...parts} />;
    drawn.current.set(key, { parts, Draw, element });
    return element;
  };
}

/** Functions count as the same: handlers are read from the parts only while the row's menu is open. */
function isSame(a: object, b: object): boolean {
  const other = new Map(Object.entries(b));
  return Object.entries(a).every(([key, value]) => key === 'closeMenu' || Object.is(value, other.get(key)));
}
