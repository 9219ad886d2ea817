// Every text of the catalogues is shown somewhere. The compiler finds texts that are missing, and this finds those left over.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const src = fileURLToPath(new URL('../src/', import.meta.url));

// The catalogues choose a language when they load, for which they look at the page.
Object.assign(globalThis, { document: { querySelector: () => null } });

/** Returns the paths of all texts, such as `common.actions.save`. */
function pathsOf(texts: object, above = ''): string[] {
  return Object.entries(texts).flatMap(([key, text]) =>
    typeof text === 'object' && !Array.isArray(text) ? pathsOf(text, `${above}${key}.`) : [`${above}${key}`],
  );
}

/**
 * Returns what a source uses of `t`, or of the texts with another name: paths, also by a name that it gave to a part of `t`. A part that it hands on or indexes
 * ends with `.*`.
 */
function usesIn(source: string, root = 't'): string[] {
  const aliases = new Map([[root, '']]);
  const definitions = /\bconst (\w+) = (\w+)((?:\s*\.\w+)+)\s*[;,]/g;
  const rest = source.replaceAll(definitions, (whole, name: string, of: string, path: string) => {
    const base = aliases.get(of);
    if (base === undefined) return whole;
    aliases.set(name, `${base}${path.replaceAll(/\s/g, '')}`.replace(/^\./, ''));
    return '';
  });
  return [...aliases].flatMap(([name, base]) =>
    [
      ...rest.matchAll(
        new RegExp(`(?<![\\w.'"-])${name}((?:\\s*\\??\\.\\w+)*)(?!\\w|\\s*=[^=>])(\\s*[[(])?`, 'g'),
      ),
    ].map(([, path = '', next = '']) => {
      const full = `${base}${path.replaceAll(/[\s?]/g, '')}`.replace(/^\./, '');
      return next.trim() === '(' ? full : `${full}|${full}.*`;
    }),
  );
}

async function usesOf(folders: readonly string[], root = 't'): Promise<Set<string>> {
  const uses = new Set<string>();
  for await (const file of glob(folders.map((folder) => `${src}${folder}/**/*.{ts,tsx}`)))
    if (!/\.test\.ts$|\/messages\//.test(file))
      for (const use of usesIn(readFileSync(file, 'utf8'), root))
        for (const one of use.split('|')) uses.add(one);
  return uses;
}

const unused = (paths: readonly string[], uses: ReadonlySet<string>): string[] =>
  paths.filter((path) => {
    const parts = path.split('.');
    const above = parts.slice(1).map((_part, index) => `${parts.slice(0, index + 1).join('.')}.*`);
    return !uses.has(path) && !above.some((one) => uses.has(one));
  });

test('the search finds texts by their path, by a name for a part, and parts that are handed on', () => {
  const uses = new Set(
    usesIn(`const texts = t.a.b; texts.used; t.a.called(1); list[t.a.c[name]]; <X texts={t.d} />`).flatMap(
      (use) => use.split('|'),
    ),
  );
  assert.deepEqual(unused(['a.b.used', 'a.b.left', 'a.called', 'a.c.any', 'a.over', 'd.x'], uses), [
    'a.b.left',
    'a.over',
  ]);
});

test('every text of the app is shown somewhere', async () => {
  const { en } = await import('../src/app/messages/en/index.ts');
  assert.deepEqual(unused(pathsOf(en), await usesOf(['app'])), []);
});

test('every text of what opens later is shown somewhere', async () => {
  const { later } = await import('../src/app/messages/en/later.ts');
  assert.deepEqual(unused(pathsOf(later), await usesOf(['app'], 'later')), []);
});

test('every text of the pages of signed-out people is shown somewhere', async () => {
  const { en } = await import('../src/auth/messages/en/index.ts');
  assert.deepEqual(unused(pathsOf(en), await usesOf(['auth'])), []);
});

test('every text of passkeys and of the second step is shown somewhere', async () => {
  const { later } = await import('../src/auth/messages/en/later.ts');
  assert.deepEqual(unused(pathsOf(later), await usesOf(['auth'], 'later')), []);
});

test('every text of the pages between an application and its answer is shown somewhere', async () => {
  const { asked } = await import('../src/auth/messages/en/interaction.ts');
  assert.deepEqual(unused(pathsOf(asked), await usesOf(['auth'], 'asked')), []);
});

test('every text of the page that keeps an account is shown somewhere', async () => {
  const { leaving } = await import('../src/auth/messages/en/leaving.ts');
  assert.deepEqual(unused(pathsOf(leaving), await usesOf(['auth'], 'leaving')), []);
});

test('every text of the page of an invitation is shown somewhere', async () => {
  const { invitation } = await import('../src/auth/messages/en/invitation.ts');
  assert.deepEqual(unused(pathsOf(invitation), await usesOf(['auth'], 'invitation')), []);
});

test('every text of the pages that change an email address is shown somewhere', async () => {
  const { emailLink } = await import('../src/auth/messages/en/email-link.ts');
  assert.deepEqual(unused(pathsOf(emailLink), await usesOf(['auth'], 'emailLink')), []);
});

test('every text of signing in with a provider is shown somewhere', async () => {
  const { via } = await import('../src/auth/messages/en/provider.ts');
  assert.deepEqual(unused(pathsOf(via), await usesOf(['auth'], 'via')), []);
});
