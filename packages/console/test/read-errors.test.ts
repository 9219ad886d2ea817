// Every read that a page shows can fail, and says so where it shows. This finds the uses of queries that drop the error.
// It must not judge what shows: the tests in a browser do.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../src/app/', import.meta.url));
const files = globSync('**/*.{ts,tsx}', { cwd: root })
  .filter((file) => !file.endsWith('.test.ts'))
  .sort()
  .map((file) => ({ file: file.replaceAll('\\', '/'), text: readFileSync(`${root}${file}`, 'utf8') }));

/** Uses whose failure shows elsewhere, by file and hook. */
const exceptions: Readonly<Record<string, string>> = {
  'components/permissions/MissingPermission.tsx useRolesWith': 'It says whom to ask instead.',
  'pages/access/Holders.tsx usePermissionNames': 'The picker on the page shows it.',
  'pages/audit/Audit.tsx useAuditLog': 'The timeline shows it.',
  'pages/audit/Chips.tsx usePerson': 'The picker of the filter shows it.',
  'pages/identity-providers/record/SettingsTab.tsx useQuery': 'Roles are shown by their ids.',
  'pages/identity-providers/record/SettingsTab.tsx useRoleNames': 'Roles are shown by their ids.',
  'pages/matrix/Matrix.tsx useQuery': 'Both are `roles`, whose error shows.',
  'pages/overview/Overview.tsx useQuery': 'Begun early: Attention and Activity use the same queries.',
  'pages/roles/Compare.tsx useFullRole': 'Among `reads`, whose errors show.',
  'pages/settings/About.tsx useQuery':
    'It asks whether the service is ready: a failure is the answer, and it asks again by itself.',
  'pages/users/pane/AccessTab.tsx useEffectivePermissions': 'The list of permissions on the tab shows it.',
  'shell/FactorNotice.tsx useQuery': 'My account shows it, where the notice leads.',
  'shell/Palette.tsx useEntries': 'It finds pages and actions all the same.',
  'shell/Palette.tsx useQuery': 'It finds pages and actions all the same.',
};

const library = ['useQuery', 'useQueries', 'useInfiniteQuery'];

/** Returns the hooks of a file with their text. */
const hooksOf = (text: string): { name: string; body: string }[] =>
  [
    ...text.matchAll(/^(?:export )?function (use[A-Z]\w*)[\s\S]*?^\}/gm),
    ...text.matchAll(/^(?:export )?const (use[A-Z]\w*) =[\s\S]*?;$/gm),
  ].map(([body, name = '']) => ({ name, body: body.slice(body.indexOf('(')) }));

/** The hooks that read: those of the library, and those that use one of them. */
function readingHooks(): Set<string> {
  const hooks = new Set(library);
  const all = files.flatMap(({ text }) => hooksOf(text));
  for (let before = 0; before < hooks.size; ) {
    before = hooks.size;
    for (const { name, body } of all)
      if ([...hooks].some((hook) => new RegExp(`\\b${hook}\\(`).test(body))) hooks.add(name);
  }
  return hooks;
}

/** Whether what was read under this pattern, `{ a, b }` or a name, has its error used in the file. */
function usesError(pattern: string, text: string): boolean {
  if (pattern.startsWith('{')) return /\b(?:error|query|reads?)\b/.test(pattern);
  const name = pattern.trim();
  return [
    // Its error, or that of a query in it.
    `\\b${name}\\.(?:\\w+\\.)?(?:error|reads|isError)\\b`,
    // Among what `ReadErrors` shows, or what the hook gives to its callers.
    `(?:of=|reads?(?:=|:| =)|query:)[^;>]*\\b${name}\\b`,
    // Given as a whole to a component that shows it.
    `=\\{${name}\\}|\\{ ${name} \\}`,
    `\\breturn ${name}\\b`,
    `\\{[^{};]*\\b${name}\\b[^{};]*\\};?\\n\\}`,
  ].some((one) => new RegExp(one).test(text));
}

const hooks = readingHooks();
const uses = files.flatMap(({ file, text }) =>
  [...hooks].flatMap((hook) =>
    [...text.matchAll(new RegExp(`\\b${hook}\\(`, 'g'))]
      .map(({ index }) => ({ file, text, hook, before: text.slice(0, index) }))
      .filter(({ before }) => !/(?:function |(?:\/\/|\*).*)$/.test(before)),
  ),
);

const drops = ({ before, text }: (typeof uses)[number]): boolean => {
  const [, pattern] = /const (\{[^}]*\}|\w+) =\s*$/.exec(before) ?? [];
  if (pattern !== undefined) return !usesError(pattern, text);
  return !/(?:=>|return)\s*$/.test(before);
};

test('no page drops the failure of what it reads', () => {
  assert.ok(uses.length > 80, `found ${uses.length} uses`);
  const dropped = uses.filter(drops).map(({ file, hook }) => `${file} ${hook}`);
  assert.deepEqual([...new Set(dropped)].sort(), Object.keys(exceptions).sort());
});
