// Which binding takes a key.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Binding, CHARACTER, type KeyPress, nameOf, take } from './keys.ts';

type Modifiers = Partial<Pick<KeyPress, 'altKey' | 'ctrlKey' | 'metaKey' | 'shiftKey'>>;

function press(key: string, modifiers: Modifiers = {}) {
  const event = {
    key,
    altKey: false,
    ctrlKey: false,
    metaKey: false,
    shiftKey: false,
    timeStamp: 0,
    target: null,
    isPrevented: false,
    preventDefault() {
      event.isPrevented = true;
    },
    ...modifiers,
  };
  return event;
}

test('keys have one name on every keyboard', () => {
  assert.equal(nameOf(press('?', { shiftKey: true })), '?');
  assert.equal(nameOf(press('k', { ctrlKey: true })), 'Mod+k');
  assert.equal(nameOf(press('k', { metaKey: true })), 'Mod+k');
  // Caps Lock.
  assert.equal(nameOf(press('K', { ctrlKey: true })), 'Mod+k');
  assert.equal(nameOf(press('K', { ctrlKey: true, shiftKey: true })), 'Mod+Shift+k');
  assert.equal(nameOf(press('ArrowUp', { altKey: true })), 'Alt+ArrowUp');
});

test('the first binding that takes a key gets it, and the browser does not', () => {
  const taken: string[] = [];
  const bindings: Binding[] = [
    { keys: ['m'], does: 'moveGroup', run: () => false },
    { keys: ['x'], does: 'flip', isOn: () => false, run: () => taken.push('off') },
    { keys: [CHARACTER], does: 'findGroup', run: ({ key }) => void taken.push(key) },
    { keys: ['Enter'], does: 'openRow' },
    { keys: ['g u'], does: { goTo: () => 'Users' }, run: () => void taken.push('users') },
  ];
  const took = (key: string, modifiers?: Modifiers, before?: string): boolean => {
    const event = press(key, modifiers);
    const isTaken = take(bindings, event, before);
    assert.equal(event.isPrevented, isTaken, key);
    return isTaken;
  };
  assert.deepEqual(
    ['m', 'x', 'ä', '7'].map((key) => took(key)),
    [true, true, true, true],
  );
  assert.deepEqual(taken, ['m', 'x', 'ä', '7']);
  for (const key of ['?', '/', ' ', 'Tab', 'Enter', 'F1']) assert.equal(took(key), false, key);
  assert.equal(took('m', { ctrlKey: true }), false);
  assert.equal(took('m', { altKey: true }), false);
  assert.equal(took('u', {}, 'g '), true);
  assert.equal(taken.at(-1), 'users');
  assert.equal(took('r', {}, 'g '), false);
});
