// CSV cells: quotes, line breaks and formulas, written and read again; and files that are broken or hostile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CsvError, parseCsv, toCsv, withoutApostrophes } from './csv.ts';

test('quotes what needs it and disarms formulas', () => {
  assert.equal(
    toCsv([
      ['plain', 'a,b', 'say "hi"', 'two\nlines'],
      ['=1+1', '+1', '-1', '@sum', '', '1-1'],
    ]),
    '\uFEFFplain,"a,b","say ""hi""","two\nlines"\r\n\'=1+1,\'+1,\'-1,\'@sum,,1-1\r\n',
  );
});

test('a formula is disarmed as well where a spreadsheet with another separator begins a cell', () => {
  assert.equal(toCsv([['x;=1', 'x;"=1"', 'x\t@a']]), '\uFEFFx;\'=1,"x;\'""=1""",x\t\'@a\r\n');
});

const values = [
  ['plain', 'a,b', 'say "hi"', 'two\nlines', ' spaced '],
  ['=1', '+1', '-1', '@sum', '\t=1'],
  ['x;=1', 'x;"=1"', 'x\t@a', "O'Brien", 'Grüße 😀'],
];

test('what is written is read again as it was', () => {
  assert.deepEqual(
    parseCsv(toCsv(values)).map((row) => row.cells.map(withoutApostrophes)),
    values,
  );
});

for (const [name, text, rows] of [
  ['nothing', '', []],
  ['a byte order mark alone', '\uFEFF', []],
  ['line ends of Windows', 'a,b\r\n1,2\r\n', ['1: a|b', '2: 1|2']],
  ['line ends of Unix, the last one missing', 'a,b\n1,2', ['1: a|b', '2: 1|2']],
  ['line ends of old Macs', 'a,b\r1,2\r', ['1: a|b', '2: 1|2']],
  ['blank lines, which count', '\n\na,b\n\n , \n1,2', ['3: a|b', '6: 1|2']],
  ['semicolons', 'a;b\n1,5;2', ['1: a|b', '2: 1,5|2']],
  ['tabs', 'a\tb\n1,5\t2;3', ['1: a|b', '2: 1,5|2;3']],
  ['separators inside a quoted name', '"a;b;c",d\n1,2', ['1: a;b;c|d', '2: 1|2']],
  ['the separator of a spreadsheet', 'sep=;\r\na;b,c,d\r\n1;2', ['2: a|b,c,d', '3: 1|2']],
  ['a formula behind a semicolon', 'a,b\nx;=1,2', ['1: a|b', '2: x;=1|2']],
  ['quotes', '"a ""b""","c,d"', ['1: a "b"|c,d']],
  ['a quote within a cell', 'a,5" disk', ['1: a|5" disk']],
  ['spaces after a quote', '"a" ,b', ['1: a|b']],
  ['line breaks in a cell, which count', '"a\r\nb",c\n1,2', ['1: a\nb|c', '3: 1|2']],
  ['empty cells', 'a,,c\n,,', ['1: a||c']],
] as const)
  test(`reads ${name}`, () => {
    assert.deepEqual(
      parseCsv(text).map(({ line, cells }) => `${line}: ${cells.join('|')}`),
      rows,
    );
  });

for (const [name, text, fault, line] of [
  ['a quote that is not closed', 'a,b\n1,2\n3,"4\n5,6\n', 'unclosed', 3],
  ['a quote at the very end', 'a,"', 'unclosed', 1],
  ['text after a quote', 'a,b\n"1"x,2', 'afterQuote', 2],
  ['a NUL', 'a,b\n1,\0', 'binary', 2],
  ['a NUL in quotes', 'a,b\n1,"\n\0"', 'binary', 3],
] as const)
  test(`refuses ${name} and names the line`, () => {
    assert.throws(
      () => parseCsv(text),
      (error) => error instanceof CsvError && error.fault === fault && error.line === line,
    );
  });

test('ten thousand rows are read', () => {
  const rows = parseCsv(`a,b\r\n${'"x, ""y""",2\r\n'.repeat(10_000)}`);
  assert.equal(rows.length, 10_001);
  assert.deepEqual(rows.at(-1), { line: 10_001, cells: ['x, "y"', '2'] });
});
