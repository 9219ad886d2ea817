// What pasted addresses are read as.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAddresses } from './addresses.ts';

const read = (text: string) =>
  readAddresses(text).map(({ line, email, first_name, last_name }) => [line, email, first_name, last_name]);

test('one address a line, in any line endings', () => {
  assert.deepEqual(read('ada@example.com\r\n\n  grace@example.com ;\rmary@example.com,'), [
    [1, 'ada@example.com', undefined, undefined],
    [3, 'grace@example.com', undefined, undefined],
    [4, 'mary@example.com', undefined, undefined],
  ]);
  assert.deepEqual(read(' \n\n'), []);
});

test('names as mail programs write them', () => {
  assert.deepEqual(read('Ada King Lovelace <ada@example.com>'), [
    [1, 'ada@example.com', 'Ada King', 'Lovelace'],
  ]);
  assert.deepEqual(read('"Lovelace, Ada" <ada@example.com>;'), [[1, 'ada@example.com', 'Ada', 'Lovelace']]);
  assert.deepEqual(read('Plato <plato@example.com>,'), [[1, 'plato@example.com', 'Plato', undefined]]);
  assert.deepEqual(read('<ada@example.com>'), [[1, 'ada@example.com', undefined, undefined]]);
});

test('what is no address stays as it is, for the service to refuse', () => {
  assert.deepEqual(read('Ada <nonsense'), [[1, 'Ada <nonsense', undefined, undefined]]);
  assert.deepEqual(read('<b>x</b>'), [[1, '<b>x</b>', undefined, undefined]]);
});
