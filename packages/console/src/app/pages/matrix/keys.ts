// Keys of the matrix: one tab stop, arrows between cells. It works on the elements, so that moving renders nothing.

const STOP = '[data-stop]';

const stopsOf = (row: Element): HTMLElement[] => [...row.querySelectorAll<HTMLElement>(STOP)];

const rowsOf = (grid: Element): Element[] =>
  [...grid.querySelectorAll('tr')].filter((row) => row.querySelector(STOP) !== null);

/** Makes the element the one that Tab reaches. */
export function makeTabStop(grid: Element, stop: HTMLElement): void {
  for (const one of grid.querySelectorAll('[data-stop][tabindex="0"]'))
    if (one !== stop) one.setAttribute('tabindex', '-1');
  stop.setAttribute('tabindex', '0');
}

/** Something must be reachable, also after the element that was is gone. */
export function ensureTabStop(grid: Element): void {
  if (grid.querySelector('[data-stop][tabindex="0"]')) return;
  const first = grid.querySelector<HTMLElement>(`tbody ${STOP}`) ?? grid.querySelector<HTMLElement>(STOP);
  first?.setAttribute('tabindex', '0');
}

type Place = { row: number; column: number };

/** Returns where the key leads; undefined for other keys. A row of one element keeps the column for the next. */
export function placeAfter(
  key: { key: string; ctrlKey: boolean },
  from: Place,
  rows: number,
  columns: number,
): Place | undefined {
  const { row, column } = from;
  switch (key.key) {
    case 'ArrowUp':
      return { row: Math.max(0, row - 1), column };
    case 'ArrowDown':
      return { row: Math.min(rows - 1, row + 1), column };
    case 'ArrowLeft':
      return { row, column: Math.max(0, column - 1) };
    case 'ArrowRight':
      return { row, column: Math.min(columns - 1, column + 1) };
    case 'Home':
      return { row: key.ctrlKey ? 0 : row, column: 0 };
    case 'End':
      return { row: key.ctrlKey ? rows - 1 : row, column: columns - 1 };
    default:
      return undefined;
  }
}

const mirrored: Readonly<Record<string, string>> = { ArrowLeft: 'ArrowRight', ArrowRight: 'ArrowLeft' };

/** Moves the focus for a key on a stop. Returns whether it did, and the column that the person is in. */
export function moveFocus(
  grid: HTMLElement,
  event: { key: string; ctrlKey: boolean; metaKey: boolean; target: EventTarget | null },
  column: number,
): number | null {
  if (!(event.target instanceof HTMLElement)) return null;
  const stop = event.target.closest<HTMLElement>(STOP);
  const own = stop?.closest('tr');
  if (!stop || !own) return null;
  const rows = rowsOf(grid);
  const stops = stopsOf(own);
  const columns = Math.max(...rows.slice(0, 1).map((row) => stopsOf(row).length));
  const here = { row: rows.indexOf(own), column: stops.length > 1 ? stops.indexOf(stop) : column };
  const isMirrored = getComputedStyle(grid).direction === 'rtl';
  const key = isMirrored ? (mirrored[event.key] ?? event.key) : event.key;
  const place = placeAfter({ key, ctrlKey: event.ctrlKey || event.metaKey }, here, rows.length, columns);
  const row = place && rows[place.row];
  if (!place || !row) return null;
  const next = stopsOf(row);
  const target = next[Math.min(place.column, next.length - 1)];
  if (!target) return null;
  makeTabStop(grid, target);
  target.focus();
  target.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  return place.column;
}
