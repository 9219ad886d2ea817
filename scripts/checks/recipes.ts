// Follows the recipes of CONTRIBUTING.md in a copy of the tree, so that they name what a change really needs.
// The tables and diffs of that file are its only source. It must not change this checkout.
// Usage: node scripts/checks/recipes.ts
import { execFile, execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

type Edit = { before: string; after: string };
/** `isRed`: the file does not compile until it is changed. A new file has one edit, whose `before` is empty. */
type Step = { file: string; isRed: boolean };
type Recipe = { title: string; steps: Step[]; edits: ReadonlyMap<string, readonly Edit[]> };

const root = fileURLToPath(new URL('../..', import.meta.url));
const source = 'CONTRIBUTING.md';
const projects = ['.', 'packages/sdk', 'packages/console', 'examples'];
/** What `npm run gen` writes and other files are compiled with. */
const generators = ['tables', 'openapi', 'sdk'];
const tables = 'packages/server/src/schema/tables.ts';

/** Returns the recipes that have a diff. */
export function readRecipes(markdown: string): Recipe[] {
  return markdown
    .split(/^(?=##+ )/m)
    .filter((section) => section.includes('\n```diff\n'))
    .map((section) => ({
      title: /^#+ (.*)/.exec(section)?.[1] ?? '',
      steps: stepsOf(section),
      edits: editsOf(section),
    }));
}

/** Returns the full path of a file as the tables of CONTRIBUTING.md name it. */
function fullPath(name: string): string {
  if (name.startsWith('modules/')) return `packages/server/src/${name}`;
  return name.startsWith('test/') ? `packages/server/${name}` : name;
}

function stepsOf(section: string): Step[] {
  const rows = section.split('\n').filter((line) => /^\| .*`/.test(line));
  return rows.flatMap((row) => {
    const [, names = '', , reportedBy = ''] = row.split(/(?<!\\)\|/);
    const files = [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
    // `a/b.ts`, `c.ts` means two files of one folder.
    return files.map((name) => {
      const isInFolder = !name.includes('/') && !existsSync(join(root, name));
      const file = fullPath(isInFolder ? `${posix.dirname(files[0] ?? '')}/${name}` : name);
      return { file, isRed: reportedBy.includes('`tsc`') };
    });
  });
}

function editsOf(section: string): Map<string, Edit[]> {
  const edits = new Map<string, Edit[]>();
  const [, diff = ''] = /\n```diff\n(.*?)\n```/s.exec(section) ?? [];
  for (const part of diff.split(/^(?:---|\+\+\+) (?=\S+$)/m).slice(1)) {
    const [file = '', ...lines] = part.trimEnd().split('\n');
    const hunks = lines.join('\n').split(/^@@\n/m);
    edits.set(
      fullPath(file),
      hunks.map((hunk) => editOf(hunk.split('\n').filter((line) => line !== ''))),
    );
  }
  return edits;
}

const editOf = (lines: readonly string[]): Edit => {
  const side = (mark: string): string =>
    lines.flatMap((line) => (line[0] === ' ' || line[0] === mark ? [`${line.slice(1)}\n`] : [])).join('');
  return { before: side('-'), after: side('+') };
};

/** Returns the text with the edit. Throws unless what it replaces is there exactly once. */
export function edited(text: string, { before, after }: Edit): string {
  const parts = text.split(before);
  if (parts.length !== 2) throw new Error(`is in the file ${parts.length - 1} times:\n${before}`);
  return parts.join(after);
}

/** Lays out the files of this checkout, as they are, with its packages. */
function layOut(folder: string): void {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
  });
  for (const file of listed.toString().split('\0'))
    if (file !== '' && existsSync(join(root, file))) cpSync(join(root, file), join(folder, file));
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, '@castellan'), { recursive: true });
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '@castellan' && (!name.startsWith('.') || name === '.bin'))
      symlinkSync(join(root, 'node_modules', name), join(modules, name));
  for (const name of readdirSync(join(root, 'packages')))
    symlinkSync(join(folder, 'packages', name), join(modules, '@castellan', name));
}

/** Writes the edits of a file. The number of a new migration follows the last one. */
function apply(folder: string, file: string, edits: readonly Edit[]): string {
  const [first] = edits;
  if (first?.before === '') {
    const path = join(folder, file.replace('NNNN', nextMigration(folder)));
    writeFileSync(path, first.after);
    return path;
  }
  const path = join(folder, file);
  mkdirSync(dirname(path), { recursive: true });
  try {
    writeFileSync(path, edits.reduce(edited, readFileSync(path, 'utf8')));
  } catch (error) {
    throw new Error(`${source} changes ${file}: ${(error as Error).message}`);
  }
  return path;
}

function nextMigration(folder: string): string {
  const numbers = readdirSync(join(folder, 'packages/server/migrations')).map(
    (name) => Number.parseInt(name, 10) || 0,
  );
  return String(Math.max(...numbers) + 1).padStart(4, '0');
}

function run(
  folder: string,
  program: string,
  args: readonly string[],
): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    execFile(program, args, { cwd: folder, maxBuffer: 64 * 1024 ** 2 }, (error, stdout, stderr) =>
      resolve({ code: error ? 1 : 0, output: stdout + stderr }),
    );
  });
}

/** Returns the errors of the compiler by file, of all projects. The second run of a folder compiles what has changed. */
async function compile(folder: string): Promise<Map<string, string>> {
  const errors = new Map<string, string>();
  for (const [index, project] of projects.entries()) {
    // One thread needs a third less of the processor: each has its own types of the libraries.
    const args = ['--noEmit', '--pretty', 'false', '--singleThreaded', '--incremental', '-p', project];
    const state = join(folder, `node_modules/${index}.tsbuildinfo`);
    const { output } = await run(folder, 'node_modules/.bin/tsc', [...args, '--tsBuildInfoFile', state]);
    for (const [line, file = ''] of output.matchAll(/^(\S[^(\n]*)\(\d+,\d+\): error .*/gm))
      errors.set(file, line);
    if (/^error /m.test(output)) throw new Error(`tsc -p ${project}: ${output}`);
  }
  return errors;
}

async function generate(folder: string): Promise<void> {
  for (const name of generators) {
    const { code, output } = await run(folder, process.execPath, [`scripts/gen/${name}.ts`]);
    if (code !== 0) throw new Error(`scripts/gen/${name}.ts fails: ${output}`);
  }
}

/** Returns one sentence for each thing that the recipes say and is not so. */
async function check(folder: string, recipes: readonly Recipe[]): Promise<string[]> {
  const named = new Set(recipes.flatMap(({ steps }) => steps.map(({ file }) => file)));
  const red = new Set(
    recipes.flatMap(({ steps }) => steps.flatMap(({ file, isRed }) => (isRed ? [file] : []))),
  );
  const edits = recipes.flatMap((recipe) => [...recipe.edits]);
  const found = edits.flatMap(([file]) =>
    named.has(file) ? [] : [`no table names ${file}, which a diff changes`],
  );
  layOut(folder);
  const written: string[] = [];
  const later: typeof edits = [];
  // Generating costs most, and each run has the fields of the recipes before.
  const generating = recipes.findLastIndex(({ steps }) => steps.some(({ file }) => file === tables));
  for (const [index, { steps, edits }] of recipes.entries()) {
    const first = steps.slice(
      0,
      steps.findIndex(({ isRed }) => isRed),
    );
    for (const [file, changes] of edits)
      if (first.some((step) => step.file === file)) written.push(apply(folder, file, changes));
      else later.push([file, changes]);
    if (index === generating) await generate(folder);
  }
  const errors = await compile(folder);
  for (const [file, line] of errors) if (!red.has(file)) found.push(`no table says that tsc reports ${line}`);
  for (const file of red) if (!errors.has(file)) found.push(`tsc does not report ${file}, as a table says`);
  written.push(...later.map((edit) => apply(folder, ...edit)));
  for (const line of (await compile(folder)).values()) found.push(`after all steps: ${line}`);
  const code = written.filter((path) => /\.tsx?$/.test(path));
  const { code: status, output } = await run(folder, 'node_modules/.bin/biome', ['check', ...code]);
  return status === 0 ? found : [...found, `biome check: ${output}`];
}

if (import.meta.main) {
  const folder = mkdtempSync(join(tmpdir(), 'castellan-recipes-'));
  try {
    const recipes = readRecipes(readFileSync(join(root, source), 'utf8'));
    const found = await check(folder, recipes);
    for (const one of found) process.stderr.write(`${source}: ${one}\n`);
    process.stdout.write(`followed: ${recipes.map(({ title }) => title).join(', ')}\n`);
    process.exitCode = found.length === 0 ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
