// A tree of groups: arrows, Home, End and typing move; the pointer drags. Plain elements, because there may be hundreds.
// It must not change anything: it reports what the person wants.
import { IconChevronRight, IconFolder, IconGripVertical } from '@tabler/icons-react';
import {
  type DragEvent,
  type KeyboardEvent,
  type MouseEvent,
  type ReactElement,
  useRef,
  useState,
} from 'react';
import { formatNumber } from '../../../common/format.ts';
import { t } from '../../text.ts';
import { CHARACTER, type KeyPress, useKeys } from '../keyboard/keys.ts';
import { subtreeOf, type TreeNode, type TreeRow } from './tree.ts';
import './groups.css';

type Props = {
  label: string;
  nodes: readonly TreeNode[];
  rows: readonly TreeRow[];
  selectedId: string | undefined;
  countLabel: (count: number) => string;
  onSelect: (id: string) => void;
  onToggle: (id: string, isOpen: boolean) => void;
  /** The person asked where to move the group; null if they may not move any. */
  onMoveTo: ((id: string) => void) | null;
  /** The person dropped the group; null is the top level. */
  onDrop: (id: string, parentId: string | null) => void;
};

/** Typing goes on with the same word for so long. */
const WORD_MS = 600;

const rowIdOf = (target: EventTarget | null): string | undefined =>
  target instanceof Element ? target.closest<HTMLElement>('[data-group]')?.dataset.group : undefined;

export function Tree(props: Props): ReactElement {
  const { rows, selectedId, nodes, onMoveTo } = props;
  const tree = useRef<HTMLDivElement>(null);
  const typed = useRef({ text: '', at: Number.NEGATIVE_INFINITY });
  const [focused, setFocused] = useState<string | null>(null);
  const [dragged, setDragged] = useState<string | null>(null);
  const [over, setOver] = useState<string | null>(null);
  const stop = [focused, selectedId].find((id) => rows.some((row) => row.id === id)) ?? rows[0]?.id;
  const forbidden = dragged === null ? null : subtreeOf(nodes, dragged);
  const parentOfDragged = rows.find(({ id }) => id === dragged)?.parentId ?? null;

  const focus = (row: TreeRow | undefined): void => {
    if (!row) return;
    setFocused(row.id);
    tree.current?.querySelector<HTMLElement>(`[data-group="${row.id}"]`)?.focus();
  };
  const findTyped = (key: string, at: number, time: number): void => {
    const word = time - typed.current.at < WORD_MS ? typed.current.text + key : key;
    typed.current = { text: word, at: time };
    const start = word.length === 1 ? at + 1 : at;
    const order = [...rows.slice(start), ...rows.slice(0, start)];
    focus(order.find(({ name }) => name.toLowerCase().startsWith(word.toLowerCase())));
  };
  const rowOf = ({ target }: KeyPress): number => rows.findIndex(({ id }) => id === rowIdOf(target));
  const isTyping = ({ timeStamp }: KeyPress): boolean => timeStamp - typed.current.at < WORD_MS;
  const turn = (event: KeyPress): void => {
    const at = rowOf(event);
    const row = rows[at];
    if (!row) return;
    const isMirrored = tree.current !== null && getComputedStyle(tree.current).direction === 'rtl';
    if (event.key === (isMirrored ? 'ArrowLeft' : 'ArrowRight')) {
      if (row.hasChildren && !row.isOpen) props.onToggle(row.id, true);
      else if (row.isOpen) focus(rows[at + 1]);
    } else if (row.isOpen) props.onToggle(row.id, false);
    else focus(rows.find(({ id }) => id === row.parentId));
  };
  const arrows = ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'];
  const take = useKeys([
    {
      keys: ['ArrowUp', 'ArrowDown'],
      does: 'groups',
      run: (event) => focus(rows[rowOf(event) + (event.key === 'ArrowDown' ? 1 : -1)]),
    },
    { keys: ['ArrowLeft', 'ArrowRight'], does: 'unfold', run: turn },
    { keys: ['Home', 'End'], does: 'groupEnds', run: ({ key }) => focus(rows.at(key === 'Home' ? 0 : -1)) },
    {
      keys: ['Enter', ' '],
      does: 'chooseGroup',
      run: (event) => props.onSelect(rows[rowOf(event)]?.id ?? ''),
    },
    {
      keys: ['m', ...arrows.map((key) => `Alt+${key}`)],
      does: 'moveGroup',
      isOn: () => onMoveTo !== null,
      // An m may belong to a name.
      run: (event) => (event.altKey || !isTyping(event)) && onMoveTo?.(rows[rowOf(event)]?.id ?? ''),
    },
    {
      keys: [CHARACTER],
      does: 'findGroup',
      run: (event) => findTyped(event.key, rowOf(event), event.timeStamp),
    },
  ]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (rowOf(event) !== -1 && take(event)) event.stopPropagation();
  };
  const onClick = (event: MouseEvent): void => {
    const row = rows.find(({ id }) => id === rowIdOf(event.target));
    if (!row || !(event.target instanceof Element)) return;
    setFocused(row.id);
    if (event.target.closest('[data-toggle]') && row.hasChildren) props.onToggle(row.id, !row.isOpen);
    else props.onSelect(row.id);
  };
  const canDrop = (id: string | null): boolean =>
    forbidden !== null &&
    (id === null ? parentOfDragged !== null : !forbidden.has(id) && id !== parentOfDragged);
  const onDragOver = (event: DragEvent): void => {
    const id = rowIdOf(event.target) ?? null;
    setOver(id);
    if (canDrop(id)) event.preventDefault();
  };
  const onDrop = (event: DragEvent): void => {
    const id = rowIdOf(event.target) ?? null;
    event.preventDefault();
    if (dragged !== null && canDrop(id)) props.onDrop(dragged, id);
    setDragged(null);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a place to drop; keyboards have "Move to…"
    <div
      onDragOver={onDragOver}
      onDrop={onDrop}
      onDragStart={(event) => {
        const id = rowIdOf(event.target);
        if (id === undefined) return;
        event.dataTransfer.setData('text/plain', id);
        event.dataTransfer.effectAllowed = 'move';
        setDragged(id);
      }}
      onDragEnd={() => setDragged(null)}
    >
      <div
        className="tree"
        role="tree"
        aria-label={props.label}
        ref={tree}
        onClick={onClick}
        onKeyDown={onKeyDown}
      >
        {rows.map((row) => (
          <div
            key={row.id}
            role="treeitem"
            aria-level={row.level}
            aria-posinset={row.position}
            aria-setsize={row.siblings}
            aria-expanded={row.hasChildren ? row.isOpen : undefined}
            aria-selected={row.id === selectedId}
            tabIndex={row.id === stop ? 0 : -1}
            data-group={row.id}
            data-over={(row.id === over && dragged !== null && canDrop(row.id)) || undefined}
            draggable={onMoveTo !== null}
            style={{ paddingInlineStart: `${4 + (row.level - 1) * 20}px` }}
          >
            {onMoveTo && <IconGripVertical size={14} aria-hidden className="tree-grip" />}
            <span data-toggle className="tree-toggle" data-open={row.isOpen || undefined}>
              {row.hasChildren && <IconChevronRight size={16} aria-hidden />}
            </span>
            <IconFolder size={17} aria-hidden />
            <span className="tree-name">{row.name}</span>
            <span className="badge" aria-hidden>
              {formatNumber(row.count)}
            </span>
            <span className="visually-hidden">{props.countLabel(row.count)}</span>
          </div>
        ))}
      </div>
      {dragged !== null && canDrop(null) && (
        <div className="tree-root-drop" data-over={over === null || undefined}>
          {t.roleGroups.dropRoot}
        </div>
      )}
    </div>
  );
}
