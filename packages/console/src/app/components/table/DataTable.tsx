// The table of every list: rows of plain elements that render only when they change; cards on phones.
// It must not fetch: it shows the rows that it is given and reports what the person does.
import { useMediaQuery } from '@mantine/hooks';
import {
  lazy,
  type MouseEvent,
  type ReactElement,
  Suspense,
  startTransition,
  useEffect,
  useRef,
  useState,
} from 'react';
import { type KeyPress, useKeys } from '../keyboard/keys.ts';
import { Card } from './Card.tsx';
import { useDrawnOnce } from './drawn-once.tsx';
import { Head } from './Head.tsx';
import { Skeletons } from './Skeletons.tsx';
import { TableRow } from './TableRow.tsx';
import type { Column, RowAction, RowParts } from './types.ts';

export type { Column, RowAction } from './types.ts';

const CardTools = lazy(() => import('../lists/CardTools.tsx').then((file) => ({ default: file.CardTools })));

type Props<T> = {
  label: string;
  /** Undefined while the first request is under way. */
  rows: readonly T[] | undefined;
  /** The first column, whose cell opens the row. `useMemo`: a new one renders every row again. */
  title: Column<T>;
  /** The other columns; also `useMemo`. */
  columns: readonly Column<T>[];
  /** The name of a row, for screen readers. */
  nameOf: (row: T) => string;
  sort?: string | undefined;
  onSort?: (sort: string) => void;
  onOpen?: (id: string) => void;
  activeId?: string | undefined;
  selection?: ReadonlySet<string>;
  onSelect?: (selection: ReadonlySet<string>) => void;
  actionsOf?: (row: T) => RowAction[];
  /** The rows are of an earlier request, while the next is under way. */
  isStale?: boolean;
  /** How many rows to draw in grey while the first request is under way. */
  skeletonRows?: number;
};

const PHONE = '(max-width: 48em)';
const DEFAULT_SKELETON_ROWS = 12;
/** More than a screen shows. */
const FIRST_ROWS = 24;

/** A table of this page load has been drawn. */
let hasDrawn = false;

/** Returns the rows to draw. When the app opens, those of the first screen come first, and the rest once they are shown. */
function useFirstScreen<T>(rows: readonly T[] | undefined): readonly T[] | undefined {
  const [isWhole, setWhole] = useState(hasDrawn);
  const isThere = rows !== undefined;
  useEffect(() => {
    if (!isThere || isWhole) return;
    hasDrawn = true;
    startTransition(() => setWhole(true));
  }, [isThere, isWhole]);
  return isWhole ? rows : rows?.slice(0, FIRST_ROWS);
}

/** Shows the rows. Empty lists and errors are the caller's. */
export function DataTable<T extends { id: string }>(props: Props<T>): ReactElement {
  const { rows, label, title, columns, selection, onSelect, onOpen, actionsOf, activeId } = props;
  const isPhone = useMediaQuery(PHONE) ?? false;
  const box = useRef<HTMLDivElement>(null);
  const anchor = useRef<string | null>(null);
  const [menuOf, setMenuOf] = useState<string | null>(null);
  const draw = useDrawnOnce();
  const drawn = useFirstScreen(rows);

  const toggle = (id: string, isRange: boolean): void => {
    if (!selection || !onSelect || !rows) return;
    const ids = rows.map((row) => row.id);
    const from = ids.indexOf(isRange && anchor.current ? anchor.current : id);
    const to = ids.indexOf(id);
    const next = new Set(selection);
    for (const one of ids.slice(Math.min(from, to), Math.max(from, to) + 1)) {
      if (selection.has(id)) next.delete(one);
      else next.add(one);
    }
    anchor.current = id;
    onSelect(next);
  };

  // One handler for all rows.
  const onClick = (event: MouseEvent): void => {
    if (!(event.target instanceof Element)) return;
    const id = rowIdOf(event.target);
    if (!id) return;
    if (event.target.closest('[data-select]')) toggle(id, event.shiftKey);
    else if (event.target.closest('[data-menu]')) setMenuOf(menuOf === id ? null : id);
    else if (event.target.closest('a, input, [role="menu"], button:not([data-open])')) return;
    else if (!getSelection()?.toString()) onOpen?.(id);
  };

  const step = ({ key, target }: KeyPress): boolean => {
    if (!(target instanceof HTMLElement) || !target.matches('[data-open]')) return false;
    const all = [...(box.current?.querySelectorAll<HTMLElement>('[data-open]') ?? [])];
    const next = all[all.indexOf(target) + (key === 'ArrowDown' ? 1 : -1)];
    if (!next) return false;
    next.focus();
    const id = rowIdOf(next);
    // Beside an open pane, moving on shows the next record.
    if (id && activeId) onOpen?.(id);
    return true;
  };
  const isOn = (): boolean => onOpen !== undefined && (rows?.length ?? 0) > 0;
  const onKeyDown = useKeys([
    { keys: ['ArrowUp', 'ArrowDown'], does: 'rows', isOn, run: step },
    // Of the button or link in the row.
    { keys: ['Enter'], does: 'openRow', isOn },
  ]);

  if (!rows || !drawn) return <Skeletons label={label} count={props.skeletonRows ?? DEFAULT_SKELETON_ROWS} />;
  const partsOf = (row: T): RowParts<T> => ({
    row,
    title,
    columns,
    name: props.nameOf(row),
    isActive: row.id === activeId,
    isSelectable: selection !== undefined,
    isSelected: selection?.has(row.id) ?? false,
    canOpen: onOpen !== undefined,
    hasActions: actionsOf !== undefined,
    actions: menuOf === row.id && actionsOf ? actionsOf(row) : null,
    closeMenu: () => setMenuOf(null),
  });
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: handles clicks and keys of the buttons inside, once for all rows
    <div
      className="table-card"
      ref={box}
      onClick={onClick}
      onKeyDown={onKeyDown}
      aria-busy={props.isStale ?? false}
    >
      {isPhone ? (
        <>
          {(selection || props.onSort) && (
            <Suspense fallback={<div className="card-tools" />}>
              <CardTools
                rows={rows}
                columns={[title, ...columns]}
                selection={selection}
                onSelect={onSelect}
                sort={props.sort}
                onSort={props.onSort}
              />
            </Suspense>
          )}
          <ul className="cards" aria-label={label}>
            {drawn.map((row) => draw(row.id, partsOf(row), Card))}
          </ul>
        </>
      ) : (
        <table className="data" aria-label={label}>
          <Head
            rows={rows}
            title={title}
            columns={columns}
            selection={selection}
            onSelect={onSelect}
            sort={props.sort}
            onSort={props.onSort}
            hasActions={actionsOf !== undefined}
          />
          <tbody>{drawn.map((row) => draw(row.id, partsOf(row), TableRow))}</tbody>
        </table>
      )}
    </div>
  );
}

const rowIdOf = (element: Element): string | undefined =>
  element.closest<HTMLElement>('[data-row]')?.dataset.row;
