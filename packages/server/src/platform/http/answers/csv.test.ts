import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLinear } from '@castellan/testing/linear-time';
import { csvRecord } from './csv.ts';

for (const [cell, written] of [
  ['plain', 'plain'],
  ['', ''],
  [null, ''],
  [true, 'true'],
  [false, 'false'],
  [' spaces ', ' spaces '],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ['two\nlines', '"two\nlines"'],
  ['two\r\nlines', '"two\r\nlines"'],
  ["O'Brien", "O'Brien"],
  ['Grüße 😀', 'Grüße 😀'],
  ['=1+1', "'=1+1"],
  ['+49', "'+49"],
  ['-1', "'-1"],
  ['@sum(a1)', "'@sum(a1)"],
  ['\t=1', "'\t'=1"],
  ['\r=1', '"\'\r\'=1"'],
  ['\n=1', '"\'\n\'=1"'],
  ['x;=1', "x;'=1"],
  ['x;"=1"', '"x;\'""=1"""'],
  ['x\t@a', "x\t'@a"],
  ['a; b;c', 'a; b;c'],
  ['[1,-2]', '"[1,-2]"'],
  ['=a,"b"', '"\'=a,""b"""'],
  ['a=1', 'a=1'],
  ['ada@example.com', 'ada@example.com'],
  ['{"a":1}', '"{""a"":1}"'],
] as const)
  test(`the cell ${JSON.stringify(cell)} is written as ${JSON.stringify(written)}`, () => {
    assert.equal(csvRecord([cell]), `${written}\r\n`);
  });

test('cells are separated by commas, and a record ends with CRLF', () => {
  assert.equal(csvRecord(['a', null, 'b,c', true]), 'a,,"b,c",true\r\n');
});

test('a long hostile cell is written in linear time', () => {
  assertLinear('a cell', (size) => csvRecord(['=",\r\n;""'.repeat(size)]), 20_000);
});
