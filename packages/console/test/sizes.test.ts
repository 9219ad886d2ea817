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

test('the pages of signed-out people load at most 80 KiB of scripts and 5 KiB of styles', () => {
  const entry = closureOf(chunkOf('auth.html'));
  assert.ok(kib(scripts(entry)) <= 80, `scripts: ${kib(scripts(entry)).toFixed(1)} KiB`);
  assert.ok(kib(styles(entry)) <= 5, `styles: ${kib(styles(entry)).toFixed(1)} KiB`);
});

test('the list of users loads at most 260 KiB of scripts and 30 KiB of styles', () => {
  const first = [...app, ...english, ...closureOf(chunkOf('pages/users/Users.tsx'))];
  assert.ok(kib(scripts(first)) <= 260, `scripts: ${kib(scripts(first)).toFixed(1)} KiB`);
  assert.ok(kib(styles(first)) <= 30, `styles: ${kib(styles(first)).toFixed(1)} KiB`);
});

test('each page adds at most 25 KiB of scripts', () => {
  const pages = Object.keys(manifest).filter((key) => /app\/pages\/.*\/[A-Z]\w+\.tsx$/.test(key));
  assert.ok(pages.length >= 15, `found ${pages.length} pages`);
  const added = pages.map((key): [string, number] => [
    key,
    kib(scripts([...closureOf(key)].filter((one) => !app.has(one)))),
  ]);
  assert.deepEqual(
    added.filter(([, size]) => size > 25),
    [],
  );
});

test('the palette adds at most 6 KiB of scripts', () => {
  const palette = [...closureOf(chunkOf('shell/Palette.tsx'))].filter((one) => !app.has(one));
  assert.ok(kib(scripts(palette)) <= 6, `scripts: ${kib(scripts(palette)).toFixed(1)} KiB`);
});

test('no file of the build names another origin to load from', () => {
  for (const { file } of Object.values(manifest)) {
    const text = readFileSync(new URL(file, dist), 'utf8');
    assert.doesNotMatch(text, /(?:src|href|fetch\(|import\()\s*=?\s*["'`]https?:\/\//, file);
    assert.doesNotMatch(text, /url\(["']?(?:https?:|data:)/, file);
  }
});
