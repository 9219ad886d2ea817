import assert from 'node:assert/strict';
import { test } from 'node:test';
import { knowsTag, tagsIn, versionIn, versionsIn } from './etags.ts';

/** What proxies make of `"7"`: nginx and Varnish; Apache and Caddy; LiteSpeed; and others. */
const altered = (tag: string): string[] => [
  `"${tag}"`,
  `W/"${tag}"`,
  ...[
    '-gzip',
    '-br',
    '-zstd',
    '-deflate',
    ';gz',
    ';br',
    '-df',
    '--gzip',
    '/gzip',
    ':gzip',
    '+gzip',
    '.gz',
    '-gzip-br',
  ].flatMap((suffix) => [`"${tag}${suffix}"`, `W/"${tag}${suffix}"`]),
];

test('a version is the same however a proxy has altered its tag', () => {
  for (const etag of [...altered('7'), ...altered('7-Ab_9-x0')]) {
    assert.equal(versionIn(etag), 7, etag);
    assert.deepEqual(versionsIn(`"6", ${etag},"other" , W/"8"`), [6, 7, 8], etag);
  }
});

test('a tag that names no version has none', () => {
  for (const etag of [
    '"x"',
    '"7x"',
    '"7_a"',
    '"-7"',
    '""',
    '" 7"',
    '"12345678901"',
    '"77777777777-gzip"',
    'W/"h7-gzip"',
  ])
    assert.equal(versionIn(etag), null, etag);
  assert.equal(versionIn(null), null);
  assert.equal(versionIn(''), null);
});

test('a malformed list is null, whatever else it holds', () => {
  for (const list of [
    '7',
    '7-gzip',
    '"7',
    '7"',
    '"',
    'w/"7"',
    'W/7',
    '"7"-gzip',
    '"7" "8"',
    '"7", 8',
    'x"7"',
    '""7""',
    '*, "7"',
  ])
    assert.equal(versionsIn(list), null, list);
  assert.deepEqual(tagsIn(' "a,b" ,, W/"c" ,'), ['a,b', 'c']);
});

test('a list of any length is read in one pass', () => {
  assert.equal(versionsIn(`${'"1",'.repeat(4_000)}"7"`)?.at(-1), 7);
  assert.equal(versionsIn(`${'\t '.repeat(8_000)}x`), null);
});

test('If-None-Match knows a tag however a proxy has altered it, and no other', () => {
  for (const own of ['7-Ab_9-x0', 'hAb_9-x0'])
    for (const etag of [`"${own}"`, `W/"${own}"`]) {
      for (const sent of [...altered(own), '*', ` "other", W/"${own}"`])
        assert.ok(knowsTag(sent, etag), sent);
      for (const sent of [
        undefined,
        '',
        '"other"',
        own,
        `"${own}x"`,
        `"x${own}"`,
        `"${own.slice(0, -1)}"`,
        `"${own.slice(0, -1)}-gzip"`,
        `x"${own}"`,
        `"${own}`,
      ])
        assert.ok(!knowsTag(sent, etag), sent);
    }
});
