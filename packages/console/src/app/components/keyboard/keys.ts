// What keys do, as data: the definitions that bind keys are those that `?` lists, so the list cannot be wrong.
// It must not know a page: the code that binds keys says what they do.
import { useEffect, useEffectEvent, useRef } from 'react';
import { readPreference, writePreference } from '../../../common/preferences.ts';
import type { LaterMessages } from '../../messages/en/later.ts';

/** An event of the browser or of React. */
export type KeyPress = Pick<
  KeyboardEvent,
  'key' | 'altKey' | 'ctrlKey' | 'metaKey' | 'shiftKey' | 'timeStamp' | 'target' | 'preventDefault'
>;

export type Binding = {
  /** Each as `nameOf` returns it; two that follow each other with a space between them. */
  keys: readonly string[];
  does: keyof LaterMessages['shortcuts']['does'] | { goTo: () => string };
  /** Takes the key, unless it returns false; then the next binding is asked. Without, the browser takes it. */
  run?: (event: KeyPress) => unknown;
  /** Whether the keys do anything now. Default: while they are bound. */
  isOn?: () => boolean;
};

/** `element`: keys of what has the focus. `single`: keys of the page, which can be turned off. `always`: with Ctrl, or Esc. */
type Kind = 'element' | 'single' | 'always';
type Bound = { current: readonly Binding[]; kind: Kind; isFrame: boolean };

const bound = new Set<Bound>();

/** Whether the key that stands for Ctrl is ⌘. */
export const isApple = /Mac|iPhone|iPad/.test(globalThis.navigator?.userAgent ?? '');

/** Any key that types a letter or a digit. */
export const CHARACTER = 'character';

/** The time within which the second of two keys must follow. */
const CHORD_MS = 1_200;

type Pressed = Pick<KeyPress, 'key' | 'altKey' | 'ctrlKey' | 'metaKey' | 'shiftKey'>;

/** Returns such as "ArrowDown", "?", "Alt+ArrowUp" and "Mod+k". Ctrl and ⌘ are the same key. */
export function nameOf({ key, altKey, ctrlKey, metaKey, shiftKey }: Pressed): string {
  const alt = altKey ? 'Alt+' : '';
  if (!ctrlKey && !metaKey) return `${alt}${key}`;
  return `Mod+${shiftKey ? 'Shift+' : ''}${alt}${key.length === 1 ? key.toLowerCase() : key}`;
}

/** Gives the key to the first binding that takes it, and keeps it from the browser. Returns whether one did. */
export function take(bindings: readonly Binding[], event: KeyPress, before = ''): boolean {
  const name = `${before}${nameOf(event)}`;
  const names = /^[\p{L}\p{N}]$/u.test(name) ? [name, CHARACTER] : [name];
  const isTaken = names.some((one) =>
    bindings.some(
      ({ keys, run, isOn }) => keys.includes(one) && run && (isOn?.() ?? true) && run(event) !== false,
    ),
  );
  if (isTaken) event.preventDefault();
  return isTaken;
}

const isFirstOfTwo = (bindings: readonly Binding[], name: string): boolean =>
  bindings.some(({ keys }) => keys.some((one) => one.startsWith(`${name} `)));

function useBound(bindings: readonly Binding[], kind: Kind, isFrame: boolean): void {
  const entry = useRef<Bound>({ current: bindings, kind, isFrame });
  useEffect(() => {
    entry.current.current = bindings;
  });
  useEffect(() => {
    const mine = entry.current;
    bound.add(mine);
    return () => void bound.delete(mine);
  }, []);
}

/** Lists the keys while the component is on screen. Returns what takes them, for `onKeyDown` of an element. */
export function useKeys(bindings: readonly Binding[]): (event: KeyPress) => boolean {
  useBound(bindings, 'element', false);
  return (event) => take(bindings, event);
}

/** Binds keys that work from anywhere on the page, but not while something is typed or a dialog is open. */
export function useSingleKeys(bindings: readonly Binding[], { isFrame = false } = {}): void {
  useBound(bindings, 'single', isFrame);
  const onKey = useEffectEvent((event: KeyboardEvent, first: string): string => {
    if (take(bindings, event, first && `${first} `)) return '';
    const name = nameOf(event);
    return first === '' && isFirstOfTwo(bindings, name) ? name : '';
  });
  useEffect(() => {
    let first = '';
    let until = 0;
    const listen = (event: KeyboardEvent): void => {
      const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.defaultPrevented;
      if (!isPlain || isTyping(event.target) || !singleKeysAreOn()) return;
      if (document.querySelector('[role="dialog"][aria-modal="true"]')) return;
      first = onKey(event, event.timeStamp < until ? first : '');
      until = first === '' ? 0 : event.timeStamp + CHORD_MS;
    };
    window.addEventListener('keydown', listen);
    return () => window.removeEventListener('keydown', listen);
  }, []);
}

/** Binds keys that always work, also while a field has the focus. */
export function useGlobalKeys(bindings: readonly Binding[]): void {
  useBound(bindings, 'always', true);
  const onKey = useEffectEvent((event: KeyboardEvent) => take(bindings, event));
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => void onKey(event);
    window.addEventListener('keydown', listen);
    return () => window.removeEventListener('keydown', listen);
  }, []);
}

/** Returns what keys do now: on the page, then everywhere. */
export function listKeys(): { page: readonly Binding[]; frame: readonly Binding[] } {
  const of = (isFrame: boolean) =>
    [...bound]
      .filter((one) => one.isFrame === isFrame && (one.kind !== 'single' || singleKeysAreOn()))
      .flatMap(({ current }) => current)
      .filter(({ isOn }) => isOn?.() ?? true);
  return { page: of(false), frame: of(true) };
}

export const singleKeysAreOn = (): boolean => readPreference('singleKeys') !== 'off';
export const turnSingleKeys = (on: boolean): void => writePreference('singleKeys', on ? null : 'off');

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target.matches('input:not([type="checkbox"], [type="radio"]), textarea, select'));
