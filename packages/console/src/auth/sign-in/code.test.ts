import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appCodeIn } from './code.ts';

test('a code is read with the blanks, hyphens and digits that keyboards and other apps write', () => {
  for (const text of [
    '492039',
    '492 039',
    ' 49 20 39\n',
    '492\u00a0039',
    '492\u202f039',
    '492-039',
    '492–039',
    '\u200e492039',
    '４９２０３９',
  ])
    assert.equal(appCodeIn(text), '492039', JSON.stringify(text));
});

test('what has other than six digits is no code', () => {
  for (const text of ['', '49203', '4920391', '49203a', '492.039', '٤٩٢٠٣٩', '7KQ2-9TBX-4MVW-1D8P'])
    assert.equal(appCodeIn(text), null, JSON.stringify(text));
});
