// The budgets of what a browser loads, compressed, from the manifest of the build.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

const dist = new URL('../dist/', import.meta.url);

type Chunk = {
  file: string;
  src?: string;
  css?: string[];
  imports?: string[];
  dynamicImports?: string[];
  isEntry?: boolean;
};
const manifest: Record<string, Chunk> = JSON.parse(
  readFileSync(new URL('.vite/manifest.json', dist), 'utf8'),
);

/** Returns the chunk and everything that it imports statically, by key. */
function closureOf(key: string, seen = new Set<string>()): Set<string> {
  if (seen.has(key)) return seen;
  seen.add(key);
  for (const one of manifest[key]?.imports ?? []) closureOf(one, seen);
  return seen;
}

const sizes = new Map<string, number>();
function compressedSize(file: string): number {
  const size = sizes.get(file) ?? gzipSync(readFileSync(new URL(file, dist)), { level: 9 }).length;
  sizes.set(file, size);
  return size;
}

const kib = (files: Iterable<string>): number =>
  [...new Set(files)].reduce((sum, file) => sum + compressedSize(file), 0) / 1_024;
const scripts = (keys: Iterable<string>): string[] => [...keys].flatMap((key) => manifest[key]?.file ?? []);
const styles = (keys: Iterable<string>): string[] => [...keys].flatMap((key) => manifest[key]?.css ?? []);

function chunkOf(path: string): string {
  const key = Object.keys(manifest).find((one) => one.endsWith(path));
  assert.ok(key, `the build has no ${path}`);
  return key;
}

const app = closureOf(chunkOf('app.html'));
const english = closureOf(chunkOf('app/messages/en/index.ts'));

const main = chunkOf('auth.html');
/** The entry of signed-out people, then what it loads on demand: pages and languages. */
const light = [main, ...[...closureOf(main)].flatMap((key) => manifest[key]?.dynamicImports ?? [])];

/**
 * What some people load beyond the sign-in page: the second step, the buttons for passkeys and providers, the page of providers, and
 * the requests of applications.
 */
const isRare = (key: string): boolean => /\/pages\/(second-step|passkey|provider|interaction)\//.test(key);

/** Of `public/`, which the manifest does not list. */
const themeScript = 'theme.js';

test('each page of signed-out people loads at most 32 KiB of scripts in any language, and 5 KiB of styles', () => {
  const texts = light.filter((key) => key.includes('/messages/'));
  const opened = light.filter((key) => !key.includes('/messages/') && !isRare(key));
  assert.ok(texts.length >= 2 && opened.length >= 6, light.join(', '));
  for (const page of opened)
    for (const language of texts) {
      const all = [main, page, language].flatMap((key) => [...closureOf(key)]);
      const size = kib([...scripts(all), themeScript]);
      assert.ok(size <= 32, `${page} with ${language}: scripts of ${size.toFixed(1)} KiB`);
      assert.ok(kib(styles(all)) <= 5, `${page}: styles of ${kib(styles(all)).toFixed(1)} KiB`);
    }
});

test('the second step, passkeys, providers, requests of applications and invitations without a password load at most 8 KiB of scripts more, each in any language', () => {
  const rare = [
    ...light.filter(isRare),
    chunkOf('interaction/proof/load.ts'),
    chunkOf('pages/invitation/Ways.tsx'),
    chunkOf('passkey/AcceptByPasskey.tsx'),
  ];
  assert.equal(rare.length, 8, rare.join(', '));
  for (const key of rare) {
    // With the library of passkeys, and the texts.
    const before = closureOf(main);
    // A proof for an application shows on the page of its request.
    if (key.endsWith('/proof/load.ts')) closureOf(chunkOf('interaction/load.ts'), before);
    const own = [...closureOf(key)].filter((one) => !before.has(one));
    const later = (one: string): string[] =>
      (manifest[one]?.dynamicImports ?? []).filter((next) => !isRare(next));
    const all = own.flatMap((one) => [one, ...later(one)]);
    for (const language of ['de', 'en']) {
      const other = `/messages/${language === 'de' ? 'en' : 'de'}/`;
      const more = all.flatMap((one) => [...closureOf(one)]).filter((one) => !before.has(one));
      const size = kib(scripts(more.filter((one) => !one.includes(other))));
      assert.ok(size <= 8, `${key} in ${language}: ${size.toFixed(1)} KiB`);
    }
  }
});

test('the pages of signed-out people load no React, the app no Preact', () => {
  const react = Object.keys(manifest).filter((key) => /^_react-/.test(key));
  assert.equal(react.length, 1);
  const loaded = new Set(light.flatMap((key) => [...closureOf(key)]));
  assert.ok(!loaded.has(react[0] ?? ''), [...loaded].join(', '));
  const common = [...loaded].filter((key) => app.has(key));
  assert.deepEqual(
    common.filter((key) => !/^_(common|rolldown-runtime)-/.test(key)),
    [],
  );
});

/** The pages that the router opens. */
const pages = [
  ...readFileSync(new URL('../src/app/pages.ts', import.meta.url), 'utf8').matchAll(
    /import\('\.(\/pages\/[^']+)'\)/g,
  ),
].map(([, path = '']) => chunkOf(`app${path}`));

test('each page, opened first, loads at most 264 KiB of scripts and 30 KiB of styles', () => {
  assert.ok(pages.length >= 15, `found ${pages.length} pages`);
  for (const key of pages) {
    const all = [...app, ...english, ...closureOf(key)];
    assert.ok(kib(scripts(all)) <= 264, `${key}: scripts of ${kib(scripts(all)).toFixed(1)} KiB`);
    assert.ok(kib(styles(all)) <= 30, `${key}: styles of ${kib(styles(all)).toFixed(1)} KiB`);
  }
});

test('the list of users shows its first rows without the library parts of dialogs and panes', () => {
  const loaded = [...app, ...english, ...closureOf(chunkOf('app/pages/users/Users.tsx'))];
  const widgets = Object.keys(manifest).find((key) => /^_widgets-/.test(key));
  assert.ok(widgets, 'the build has no chunk "widgets"');
  assert.ok(!loaded.includes(widgets), loaded.join(', '));
});

test('no file of a page has more than 25 KiB', () => {
  const large = Object.entries(manifest)
    .filter(([key]) => !app.has(key) && /src\/app\//.test(key))
    .map(([key, { file }]): [string, number] => [key, kib([file])])
    .filter(([, size]) => size > 25);
  assert.deepEqual(large, []);
});

test('the palette has at most 6 KiB', () => {
  const { file = '' } = manifest[chunkOf('shell/Palette.tsx')] ?? {};
  assert.ok(kib([file]) <= 6, `${kib([file]).toFixed(1)} KiB`);
});

test('no file of the build names another origin to load from', () => {
  for (const { file } of Object.values(manifest)) {
    const text = readFileSync(new URL(file, dist), 'utf8');
    assert.doesNotMatch(text, /(?:src|href|fetch\(|import\()\s*=?\s*["'`]https?:\/\//, file);
    assert.doesNotMatch(text, /url\(["']?(?:https?:|data:)/, file);
  }
});
