// The table of every list: rows of plain elements that render only when they change; cards on phones.
// It must not fetch: it shows the rows that it is given and reports what the person does.
import { ActionIcon, Menu } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconArrowDown, IconArrowsSort, IconArrowUp, IconDots } from '@tabler/icons-react';
import {
  type KeyboardEvent,
  type MouseEvent,
  type ReactElement,
  type ReactNode,
  useRef,
  useState,
} from 'react';
import { t } from '../text.ts';

export type Column<T> = {
  key: string;
  header: string;
  cell: (row: T) => ReactNode;
  /** The value of the sort parameter. Without one, the list cannot be sorted by the column. */
  sort?: string;
  align?: 'end';
  /** Left out of cards. */
  isWideOnly?: boolean;
};

export type RowAction = {
  label: string;
  icon?: ReactNode;
  isDangerous?: boolean;
  /** Why it cannot be done now; shown in the menu. */
  disabledReason?: string | null;
  run: () => void;
};

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

type RowParts<T> = {
  row: T;
  title: Column<T>;
  columns: readonly Column<T>[];
  name: string;
  isActive: boolean;
  isSelectable: boolean;
  isSelected: boolean;
  canOpen: boolean;
  hasActions: boolean;
  /** Only while the menu of the row is open. */
  actions: RowAction[] | null;
};

const PHONE = '(max-width: 48em)';
const DEFAULT_SKELETON_ROWS = 12;

/** Shows the rows. Empty lists and errors are the caller's. */
export function DataTable<T extends { id: string }>(props: Props<T>): ReactElement {
  const { rows, label, title, columns, selection, onSelect, onOpen, actionsOf, activeId } = props;
  const isPhone = useMediaQuery(PHONE) ?? false;
  const box = useRef<HTMLDivElement>(null);
  const anchor = useRef<string | null>(null);
  const [menuOf, setMenuOf] = useState<string | null>(null);
  const draw = useDrawnOnce();

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

  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !(event.target instanceof HTMLElement) || !event.target.matches('[data-open]')) return;
    const all = [...(box.current?.querySelectorAll<HTMLElement>('[data-open]') ?? [])];
    const next = all[all.indexOf(event.target) + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
    const id = rowIdOf(next);
    // Beside an open pane, moving on shows the next record.
    if (id && activeId) onOpen?.(id);
  };

  if (!rows) return <Skeletons label={label} count={props.skeletonRows ?? DEFAULT_SKELETON_ROWS} />;
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
  });
  const closeMenu = (): void => setMenuOf(null);
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
        <ul className="cards" aria-label={label}>
          {rows.map((row) => draw(row.id, { ...partsOf(row), closeMenu }, Card))}
        </ul>
      ) : (
        <table className="data" aria-label={label}>
          <Head {...props} />
          <tbody>{rows.map((row) => draw(row.id, { ...partsOf(row), closeMenu }, TableRow))}</tbody>
        </table>
      )}
    </div>
  );
}

const rowIdOf = (element: Element): string | undefined =>
  element.closest<HTMLElement>('[data-row]')?.dataset.row;

/**
 * Returns a function that makes the element of a row, and returns the same element while nothing that it shows has changed:
 * React then skips the row. (`memo` would lose the type of the row.)
 */
function useDrawnOnce(): <P extends object>(
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

function Head<T>({
  rows = [],
  title,
  columns,
  selection,
  onSelect,
  sort,
  onSort,
  actionsOf,
}: Props<T & { id: string }>): ReactElement {
  const chosen = rows.filter(({ id }) => selection?.has(id)).length;
  const toggleAll = (): void => {
    const next = new Set(selection);
    for (const { id } of rows) {
      if (chosen === rows.length) next.delete(id);
      else next.add(id);
    }
    onSelect?.(next);
  };
  return (
    <thead>
      <tr>
        {selection && (
          <th className="select" scope="col">
            <input
              type="checkbox"
              aria-label={t.common.list.selectAll}
              checked={chosen > 0 && chosen === rows.length}
              ref={(box) => {
                if (box) box.indeterminate = chosen > 0 && chosen < rows.length;
              }}
              onChange={toggleAll}
            />
          </th>
        )}
        {[title, ...columns].map((column) => (
          <HeadCell key={column.key} column={column} current={sort} onSort={onSort} />
        ))}
        {actionsOf && (
          <th className="menu" scope="col">
            <span className="visually-hidden">{t.common.actions.more}</span>
          </th>
        )}
      </tr>
    </thead>
  );
}

type HeadCellProps = {
  column: { header: string; sort?: string; align?: 'end' };
  current: string | undefined;
  onSort: ((sort: string) => void) | undefined;
};

function HeadCell({ column, current, onSort }: HeadCellProps): ReactElement {
  const { header, sort, align } = column;
  if (!sort || !onSort)
    return (
      <th scope="col" data-align={align}>
        {header}
      </th>
    );
  const isUp = current === sort;
  const isDown = current === `-${sort}`;
  const Icon = isUp ? IconArrowUp : isDown ? IconArrowDown : IconArrowsSort;
  return (
    <th scope="col" data-align={align} aria-sort={isUp ? 'ascending' : isDown ? 'descending' : 'none'}>
      <button type="button" className="sort" onClick={() => onSort(isUp ? `-${sort}` : sort)}>
        {header}
        <Icon size={14} aria-hidden data-idle={(!isUp && !isDown) || undefined} />
      </button>
    </th>
  );
}

type DrawnRow<T> = RowParts<T> & { closeMenu: () => void };

function TableRow<T extends { id: string }>(parts: DrawnRow<T>): ReactElement {
  const { row, title, columns, isActive, isSelected, isSelectable, hasActions } = parts;
  return (
    <tr data-row={row.id} data-active={isActive || undefined} data-selected={isSelected || undefined}>
      {isSelectable && (
        <td className="select">
          <SelectBox {...parts} />
        </td>
      )}
      <td className="title">
        <OpenButton {...parts}>{title.cell(row)}</OpenButton>
      </td>
      {columns.map((column) => (
        <td key={column.key} data-align={column.align}>
          {column.cell(row)}
        </td>
      ))}
      {hasActions && (
        <td className="menu">
          <RowMenu {...parts} />
        </td>
      )}
    </tr>
  );
}

function Card<T extends { id: string }>(parts: DrawnRow<T>): ReactElement {
  const { row, title, columns, isActive, isSelected, isSelectable, hasActions } = parts;
  return (
    <li
      className="card"
      data-row={row.id}
      data-active={isActive || undefined}
      data-selected={isSelected || undefined}
    >
      <div className="card-head">
        {isSelectable && <SelectBox {...parts} />}
        <div className="title">
          <OpenButton {...parts}>{title.cell(row)}</OpenButton>
        </div>
        {hasActions && <RowMenu {...parts} />}
      </div>
      <dl>
        {columns
          .filter(({ isWideOnly }) => !isWideOnly)
          .map((column) => (
            <div key={column.key}>
              <dt>{column.header}</dt>
              <dd>{column.cell(row)}</dd>
            </div>
          ))}
      </dl>
    </li>
  );
}

const SelectBox = ({ name, isSelected }: { name: string; isSelected: boolean }): ReactElement => (
  <input type="checkbox" data-select aria-label={t.common.list.select(name)} checked={isSelected} readOnly />
);

function OpenButton({ canOpen, children }: { canOpen: boolean; children: ReactNode }): ReactNode {
  if (!canOpen) return children;
  return (
    <button type="button" className="row-open" data-open>
      {children}
    </button>
  );
}

type MenuProps = { name: string; actions: RowAction[] | null; closeMenu: () => void };

/** A plain button until it is opened: a menu component per row would cost most of the time of a long list. */
function RowMenu({ name, actions, closeMenu }: MenuProps): ReactElement {
  const button = <ActionIconLike label={t.common.actions.moreOf(name)} isOpen={actions !== null} />;
  if (!actions) return button;
  return (
    <Menu opened onClose={closeMenu} position="bottom-end" withinPortal returnFocus>
      <Menu.Target>{button}</Menu.Target>
      <Menu.Dropdown>
        {actions.map(({ label, icon, isDangerous, disabledReason, run }) => (
          <Menu.Item
            key={label}
            leftSection={icon}
            {...(isDangerous ? { color: 'red' } : {})}
            disabled={Boolean(disabledReason)}
            onClick={run}
          >
            {label}
            {disabledReason && <span className="menu-reason">{disabledReason}</span>}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

type ActionIconLikeProps = { label: string; isOpen: boolean };

function ActionIconLike({ label, isOpen, ...rest }: ActionIconLikeProps): ReactElement {
  if (isOpen)
    return (
      <ActionIcon variant="subtle" color="gray" aria-label={label} data-menu {...rest}>
        <IconDots size={18} aria-hidden />
      </ActionIcon>
    );
  return (
    <button type="button" className="icon-button" aria-label={label} aria-haspopup="menu" data-menu>
      <IconDots size={18} aria-hidden />
    </button>
  );
}

function Skeletons({ label, count }: { label: string; count: number }): ReactElement {
  return (
    <div className="table-card skeletons" role="status" aria-busy="true" aria-label={label}>
      <span className="visually-hidden">{t.common.list.loading}</span>
      {Array.from({ length: count }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the grey rows are all the same
        <i key={index} />
      ))}
    </div>
  );
}
