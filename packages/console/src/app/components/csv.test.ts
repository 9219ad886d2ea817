// CSV cells: quotes, line breaks and formulas.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toCsv } from './csv.ts';

test('quotes what needs it and disarms formulas', () => {
  assert.equal(
    toCsv([
      ['plain', 'a,b', 'say "hi"', 'two\nlines'],
      ['=1+1', '+1', '-1', '@sum', '', '1-1'],
    ]),
    '\uFEFFplain,"a,b","say ""hi""","two\nlines"\r\n\'=1+1,\'+1,\'-1,\'@sum,,1-1\r\n',
  );
});
