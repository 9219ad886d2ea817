// Values of attributes as texts and back, and the patches between them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attribute } from '../../data/attributes/attributes.ts';
import { patchOf, readText, textOf, textsOf, valuesOf } from './values.ts';

const attribute = (name: string, type: Attribute['type']): Attribute => ({
  name,
  label: name,
  description: '',
  type,
  values: null,
  max_length: null,
});
const team = attribute('team', 'string');
const floor = attribute('floor', 'integer');
const remote = attribute('remote', 'boolean');
const prefs = attribute('prefs', 'json');
const all = [team, floor, remote, prefs];

test('a value comes back from its text', () => {
  const values = { team: 'Blue', floor: 0, remote: false, prefs: { a: [1, null, { b: null }] } };
  assert.deepEqual(valuesOf(all, textsOf(all, values)), { values, problems: new Map() });
  assert.deepEqual(valuesOf(all, textsOf(all, {})), { values: {}, problems: new Map() });
  assert.equal(textOf(team, undefined), '');
});

test('what is no number stays a text, which the service refuses', () => {
  for (const text of ['abc', '1,5', '0x10', '1e999', 'Infinity'])
    assert.deepEqual(readText(floor, text), { value: text });
  assert.deepEqual(readText(floor, ' -1.5e3 '), { value: -1_500 });
  assert.deepEqual(readText(remote, 'maybe'), { value: 'maybe' });
});

test('what is no JSON, or has a null that a patch would remove, is told before it is sent', () => {
  assert.deepEqual(readText(prefs, '{a: 1}'), { problem: 'json' });
  assert.deepEqual(readText(prefs, '{"a": {"b": null}}'), { problem: 'null' });
  assert.deepEqual(readText(prefs, '[{"a": null}]'), { value: [{ a: null }] });
  assert.deepEqual(readText(prefs, 'null'), { value: undefined });
  assert.deepEqual([...valuesOf(all, { team: 'x', prefs: '{' }).problems], [['prefs', 'json']]);
});

test('a patch has what changed, and null for what is gone', () => {
  const from = textsOf(all, { team: 'Blue', floor: 1, prefs: { a: 1, b: { c: 1, d: 2 }, e: [1] } });
  const to = {
    ...from,
    floor: '',
    remote: 'true',
    prefs: '{"b": {"d": 3}, "e": [2], "f": {"g": 1}}',
  };
  assert.deepEqual(patchOf(all, from, to), {
    patch: {
      floor: null,
      remote: true,
      prefs: { a: null, b: { c: null, d: 3 }, e: [2], f: { g: 1 } },
    },
    problems: new Map(),
  });
  assert.deepEqual(patchOf(all, from, from), { patch: {}, problems: new Map() });
  assert.deepEqual(patchOf(all, from, { ...from, prefs: '[1]' }).patch, { prefs: [1] });
});
