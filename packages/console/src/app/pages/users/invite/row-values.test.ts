// Values of attributes for people who are invited together.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attribute } from '../../../data/attributes/attributes.ts';
import { areComplete, leftLines, splitValues } from './row-values.ts';

const attribute = (name: string, type: Attribute['type'], unique: boolean) => ({
  name,
  label: name,
  description: '',
  type,
  values: null,
  max_length: null,
  unique,
});
const asked = [attribute('team', 'string', false), attribute('badge', 'integer', true)];

test('people share a value, and of a unique attribute each has their line', () => {
  const texts = { team: 'Blue', badge: '1\r\n2\n3\n\n' };
  assert.equal(areComplete(asked, texts, 3), true);
  assert.deepEqual(splitValues(asked, texts, { index: 1, of: 3 }), { team: 'Blue', badge: 2 });
  assert.deepEqual(splitValues(asked, { team: 'Blue', badge: '7' }, { index: 0, of: 1 }), {
    team: 'Blue',
    badge: 7,
  });
});

test('nobody may be left without a value', () => {
  for (const badge of ['', '1\n2', '1\n\n3', '1\n2\n3\n4'])
    assert.equal(areComplete(asked, { team: 'Blue', badge }, 3), false, JSON.stringify(badge));
  assert.equal(areComplete(asked, { badge: '1' }, 1), false);
});

test('the lines of those who are left stay with them', () => {
  const [one, two, three] = [{ email: 'a' }, { email: 'b' }, { email: 'c' }];
  const left = leftLines(
    asked,
    { team: 'Blue', badge: '1\n2\n3' },
    { rows: [one, two, three], left: [one, three] },
  );
  assert.deepEqual(left, { team: 'Blue', badge: '1\n3' });
});
