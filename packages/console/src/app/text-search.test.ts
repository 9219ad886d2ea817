// What a search within a page finds: the same as the service.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { searchFor } from './text-search.ts';

test('names are found however they are typed', () => {
  for (const [text, typed] of [
    ['José Núñez', 'nunez jose'],
    ['Hans Straße', 'STRASSE'],
    ['Jose', 'josé'],
    ['Ada Byron', 'Byron, Ada'],
    ['Seán O’Neil', "o'neil"],
    ["O'Neal", 'o’neal'],
    ['Łukasz Ødegård', 'odegard'],
    ['İpek Işık', 'isik'],
    ['Jean‑Luc', 'jean-luc'],
    ['anything', ' '],
  ] as const)
    assert.ok(searchFor(typed)(text), typed);
});

test('a word that is missing finds nothing', () => {
  for (const [text, typed] of [
    ['Ada Byron', 'ada lovelace'],
    ['Ada Byron', 'adabyron'],
    ['a.b', 'a*b'],
  ] as const)
    assert.ok(!searchFor(typed)(text), typed);
});
