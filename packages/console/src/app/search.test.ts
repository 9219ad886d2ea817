// What is taken from the address of a page, and what is dropped.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayIn, momentIn, numberIn, textIn } from './search.ts';

const given = (value: unknown) => ({ it: value });

test('texts lose what the service refuses', () => {
  assert.equal(textIn(given('a\0b'), 'it'), 'ab');
  assert.equal(textIn(given('\ud800'), 'it'), '\ufffd');
  assert.equal(textIn(given('😀'.repeat(300)), 'it'), '😀'.repeat(250));
  assert.equal(textIn(given(''), 'it'), undefined);
  assert.equal(textIn({}, 'it'), undefined);
  assert.equal(textIn(given(7), 'it'), '7');
});

test('numbers are whole, written in digits and in range', () => {
  assert.equal(numberIn(given('7'), 'it', 1, 10), 7);
  for (const value of ['-1', '0', '11', '1e1', '0x1', ' 1', '1.5', 'abc', '', undefined, '9'.repeat(400)])
    assert.equal(numberIn(given(value), 'it', 1, 10), undefined, String(value));
});

test('days are days of the calendar', () => {
  assert.equal(dayIn(given('2028-02-29'), 'it'), '2028-02-29');
  for (const value of [
    'garbage',
    '2026-02-29',
    '2026-02-31',
    '2026-13-01',
    '0001-01-01',
    '2026-1-1',
    '20260101',
  ])
    assert.equal(dayIn(given(value), 'it'), undefined, value);
});

test('moments are in UTC and written in full', () => {
  assert.equal(momentIn(given('2026-11-03T14:05:00.000Z'), 'it'), '2026-11-03T14:05:00.000Z');
  for (const value of ['yesterday', '2026-11-03', '2026-11-03T14:05', '-000001-01-01T00:00:00.000Z', '1'])
    assert.equal(momentIn(given(value), 'it'), undefined, value);
});
