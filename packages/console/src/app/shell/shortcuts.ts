// Single keys: `?` lists them, `/` goes to the search box, `g` and a letter opens a page. They can be turned off.
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useEffectEvent } from 'react';
import { readPreference, writePreference } from '../../common/preferences.ts';
import { useMe } from '../data/me.tsx';
import { mayOpen, navPages } from './nav.ts';

/** The time within which the second key must follow `g`. */
const CHORD_MS = 1_200;

export const singleKeysAreOn = (): boolean => readPreference('singleKeys') !== 'off';
export const turnSingleKeys = (on: boolean): void => writePreference('singleKeys', on ? null : 'off');

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target.matches('input:not([type="checkbox"], [type="radio"]), textarea, select'));

export function useShortcuts(showHelp: () => void): void {
  const me = useMe();
  const navigate = useNavigate();
  const onKey = useEffectEvent((event: KeyboardEvent, isChord: boolean): boolean => {
    if (isChord) {
      const page = navPages.find(({ key }) => key === event.key);
      if (page && mayOpen(page, me)) void navigate({ to: page.path });
      return false;
    }
    if (event.key === '?') showHelp();
    if (event.key === '/') {
      const box = document.querySelector<HTMLInputElement>('main input[type="search"]');
      if (box) event.preventDefault();
      box?.focus();
    }
    return event.key === 'g';
  });
  useEffect(() => {
    let chordUntil = 0;
    const listen = (event: KeyboardEvent): void => {
      const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.defaultPrevented;
      if (!isPlain || isTyping(event.target) || !singleKeysAreOn()) return;
      if (document.querySelector('[role="dialog"][aria-modal="true"]')) return;
      chordUntil = onKey(event, event.timeStamp < chordUntil) ? event.timeStamp + CHORD_MS : 0;
    };
    window.addEventListener('keydown', listen);
    return () => window.removeEventListener('keydown', listen);
  }, []);
}
