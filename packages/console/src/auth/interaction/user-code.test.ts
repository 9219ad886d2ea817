// The code of a device as people type and paste it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { userCodeIn } from './user-code.ts';

test('case, blanks and hyphens do not matter', () => {
  for (const text of ['BCDF-GHJK', 'bcdfghjk', ' bcdf ghjk ', 'BCDF–GHJK', 'ＢＣＤＦ‑ＧＨＪＫ'])
    assert.equal(userCodeIn(text), 'BCDF-GHJK', text);
});

test('what has not eight letters is no code', () => {
  for (const text of ['', 'BCDF-GHJ', 'BCDF-GHJKL', 'BCDF-GH1K', 'BCDF/GHJK', 'BCDFÄGHJ'])
    assert.equal(userCodeIn(text), null, text);
});
