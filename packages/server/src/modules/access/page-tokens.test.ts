// Tests that a page token is good for its own search only, unchanged.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { createPageTokens } from './page-tokens.ts';

const tokens = createPageTokens(Buffer.alloc(32, 7));
const search = ['subject', 'caller', { type: 'user' }, { name: 'read', properties: { a: 1, b: { c: [2] } } }];
const start = { limit: 20, after: '0192f0c1-7b5e-7c3a-9f64-3d1f0a8be210', total: 41 };
const token = tokens.tokenOf(search, start);
const refused = { code: 'invalid_input', status: 400 };

describe('a page token', () => {
  test('leads to where its page begins, also if the members of the search are in another order', () => {
    assert.deepEqual(tokens.start(search, { token }), start);
    const reordered = structuredClone(search);
    reordered[3] = { properties: { b: { c: [2] }, a: 1 }, name: 'read' };
    assert.deepEqual(tokens.start(reordered, { token }), start);
  });

  test('is not needed on the first page, which has 100 results unless the limit says otherwise, and at most 1,000', () => {
    for (const [page, limit] of [
      [undefined, 100],
      [{}, 100],
      [{ token: '' }, 100],
      [{ limit: 0 }, 0],
      [{ limit: 7, token: '' }, 7],
      [{ limit: 1_001 }, 1_000],
    ] as const)
      assert.deepEqual(tokens.start(search, page), { limit, after: null, total: null });
  });

  test('may come with the limit of the first page, and with no other', () => {
    assert.deepEqual(tokens.start(search, { token, limit: 20 }), start);
    for (const limit of [0, 19, 21, 100])
      assert.throws(() => tokens.start(search, { token, limit }), refused);
  });

  test('is refused for any other search', () => {
    for (const other of [
      [],
      search.slice(0, 3),
      [...search, null],
      ['action', ...search.slice(1)],
      ['subject', 'another caller', ...search.slice(2)],
      [...search.slice(0, 3), { name: 'read', properties: { a: 1, b: { c: [3] } } }],
      [...search.slice(0, 3), { name: 'read' }],
    ])
      assert.throws(() => tokens.start(other, { token }), refused);
  });

  test('is refused by a service with another key', () => {
    assert.throws(() => createPageTokens(Buffer.alloc(32, 8)).start(search, { token }), refused);
  });

  test('is refused if anything in it was changed, and so is any other text', () => {
    const payload = Buffer.from(JSON.stringify([1_000, null, null])).toString('base64url');
    assert.throws(() => tokens.start(search, { token: `${payload}.${token.split('.')[1]}` }), refused);
    // Decoders of base64url ignore the last two bits of a code, padding, and characters of no alphabet.
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const spare = alphabet[alphabet.indexOf(token.at(-1) ?? '') ^ 1];
    for (const same of [`${token.slice(0, -1)}${spare}`, `${token}=`, `${token}!`, `${token}.x`, `${token}.`])
      assert.throws(() => tokens.start(search, { token: same }), refused);
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom('A', 'b', '.', '-', ''), (at, by) => {
        const changed = `${token.slice(0, at)}${by}${token.slice(at + 1)}`;
        // The last character of base64 has bits that are not used.
        const isSame = Buffer.from(changed.split('.')[1] ?? '', 'base64url').equals(
          Buffer.from(token.split('.')[1] ?? '', 'base64url'),
        );
        if (changed.split('.')[0] === token.split('.')[0] && isSame) return;
        assert.throws(() => tokens.start(search, { token: changed }), refused);
      }),
    );
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (text) => {
        assert.throws(() => tokens.start(search, { token: text }), refused);
      }),
    );
  });
});
