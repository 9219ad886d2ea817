// Tests mail templates: values, sections, escaping, and every reason for a refusal.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileTemplate, TemplateError } from './text-template.ts';

const names = ['name', 'link', 'app_url'];
const text = (source: string, values: Record<string, string>) =>
  compileTemplate(source, 'text', names)(values);
const html = (source: string, values: Record<string, string>) =>
  compileTemplate(source, 'html', names)(values);

test('values replace their placeholders, however often and with spaces inside the braces', () => {
  assert.equal(text('{{name}}, {{ name }}: {{link}}', { name: 'Ada', link: 'x' }), 'Ada, Ada: x');
  assert.equal(text('[{{name}}]', {}), '[]');
});

test('a style sheet may end with several braces', () => {
  assert.equal(html('@media print{p{color:red}}{{name}}', { name: 'x' }), '@media print{p{color:red}}x');
});

test('a value is never read as a template or as a replacement pattern', () => {
  assert.equal(text('{{name}}', { name: "{{link}} $& $' $1", link: 'no' }), "{{link}} $& $' $1");
});

test('a section appears if its value is not empty; sections nest', () => {
  const source = 'Hello{{#name}} {{name}}{{#link}} at {{link}}{{/link}}{{/name}}.';
  assert.equal(text(source, { name: 'Ada', link: 'x' }), 'Hello Ada at x.');
  assert.equal(text(source, { name: 'Ada', link: '' }), 'Hello Ada.');
  assert.equal(text(source, { link: 'x' }), 'Hello.');
});

test('an inverted section appears if its value is empty; sections of both kinds nest', () => {
  const source = '{{#link}}{{link}}{{^name}} for you{{/name}}{{/link}}{{^ link }}no link{{/link}}.';
  assert.equal(text(source, { link: 'x', name: 'Ada' }), 'x.');
  assert.equal(text(source, { link: 'x', name: '' }), 'x for you.');
  assert.equal(text(source, { link: '' }), 'no link.');
  assert.equal(text(source, {}), 'no link.');
});

test('in HTML every value is escaped, in text none is; in both a value stays on one line', () => {
  const name = `<b onclick="x('y')">&\r\nBcc: eve@example.com\u2028\u0000`;
  assert.equal(
    html('<p title="{{name}}">', { name }),
    '<p title="&lt;b onclick=&quot;x(&#39;y&#39;)&quot;&gt;&amp; Bcc: eve@example.com ">',
  );
  assert.equal(text('{{name}}', { name }), `<b onclick="x('y')">& Bcc: eve@example.com `);
});

for (const [source, line, message] of [
  ['a\nb {{nmae}}', 2, /unknown placeholder \{\{nmae\}\}; use name, link, app_url/],
  ['{{}}', 1, /unknown placeholder/],
  ['{{Name}}', 1, /unknown placeholder/],
  ['{{^nmae}}{{/nmae}}', 1, /unknown placeholder/],
  ['{{!name}}', 1, /unknown placeholder/],
  ['\n{{^name}}\n', 2, /\{\{\^name\}\} is never closed/],
  ['{{^name}}{{#link}}{{/name}}{{/link}}', 1, /\{\{\/name\}\} closes no open section/],
  ['\n{{#name}}\n\n', 2, /\{\{#name\}\} is never closed/],
  ['{{#name}}\n{{#link}}\n{{/name}}{{/link}}', 3, /\{\{\/name\}\} closes no open section/],
  ['{{/name}}', 1, /closes no open section/],
  ['\n\nx {{name', 3, /belongs to no placeholder/],
  ['{{{name}}}', 1, /belongs to no placeholder/],
] as const)
  test(`${JSON.stringify(source)} is refused in line ${line}`, () => {
    assert.throws(
      () => compileTemplate(source, 'text', names),
      (error) => error instanceof TemplateError && error.line === line && message.test(error.message),
    );
  });
