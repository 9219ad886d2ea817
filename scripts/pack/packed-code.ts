// Turns the code of the workspaces into what the published package holds: JavaScript, reached from its program.
// It must not write a file, nor know what else the package holds.
import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join, relative } from 'node:path/posix';

/** Path in the package → text. */
export type PackedCode = Map<string, string>;

/** A specifier in code without types, as an import or as a path that the code resolves itself. */
const specifier = /(\bfrom |\bimport |\bimport\(|\bimport\.meta\.resolve\(|\bnew URL\()(['"])([^'"\n]+)\2/g;

type Manifest = { exports?: Record<string, string | { default: string }> };

/** Returns the file that an export of a workspace names: `@castellan/server/app` → `packages/server/src/app.ts`. */
export function exportedFile(root: string, name: string): string {
  const [, workspace = '', rest = ''] = /^@castellan\/([^/]+)\/?(.*)$/.exec(name) ?? [];
  const { exports = {} }: Manifest = JSON.parse(
    readFileSync(join(root, 'packages', workspace, 'package.json'), 'utf8'),
  );
  const wanted = rest === '' ? '.' : `./${rest}`;
  for (const [pattern, target] of Object.entries(exports)) {
    const [before = '', after] = pattern.split('*');
    const isMatch =
      after === undefined ? pattern === wanted : wanted.startsWith(before) && wanted.endsWith(after);
    if (!isMatch) continue;
    const path = typeof target === 'string' ? target : target.default;
    const part = after === undefined ? '' : wanted.slice(before.length, wanted.length - after.length);
    return join('packages', workspace, path.replace('*', part));
  }
  throw new Error(`${name} is not among the exports of packages/${workspace}`);
}

/** `.ts` becomes `.js`: Node does not strip types below node_modules. */
const packedName = (path: string): string => path.replace(/\.tsx?$/, '.js');

/**
 * Returns the code that can run from `entry`, a path below `root`, by its path in the package. Types become blanks, so
 * that lines and columns stay those of the sources. A workspace is imported by a path instead of its name. Throws if a
 * file is missing.
 */
export function packCode(root: string, entry: string): PackedCode {
  const packed: PackedCode = new Map();
  const waiting = [entry];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (packed.has(packedName(file))) continue;
    const source = readFileSync(join(root, file), 'utf8');
    const code = file.endsWith('.ts') ? stripTypeScriptTypes(source) : source;
    const folder = dirname(file);
    const text = code.replace(specifier, (all, before: string, quote: string, name: string) => {
      const target = name.startsWith('@castellan/') ? exportedFile(root, name) : join(folder, name);
      const isOurs = name.startsWith('@castellan/') || name.startsWith('.');
      // `new URL()` is also given folders, and addresses of other things.
      if (!isOurs || !/\.(ts|js|mjs)$/.test(target))
        return before + quote + pathTo(folder, name, target) + quote;
      if (before === 'new URL(' && !existsSync(join(root, target))) return all;
      waiting.push(target);
      return before + quote + pathTo(folder, name, target) + quote;
    });
    packed.set(packedName(file), text);
  }
  return packed;
}

/** Keeps what is written as a path, but for its ending; writes a name of a workspace as a path. */
function pathTo(folder: string, name: string, target: string): string {
  if (!name.startsWith('@castellan/')) return name.startsWith('.') ? packedName(name) : name;
  const path = packedName(relative(folder, target));
  return path.startsWith('.') ? path : `./${path}`;
}
