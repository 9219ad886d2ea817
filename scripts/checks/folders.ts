// Reports folders of source with more loose files than a reader can take in. Prints nothing when there are none.
// It must not judge names: it only counts.
import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';

export const MOST_LOOSE_FILES = 15;

const source = /\.(ts|tsx|mjs|css)$/;
const test = /\.test\.ts$/;

/** Returns the number of loose source files of each folder. A test beside its source counts once with it. */
export function looseFiles(files: readonly string[]): Map<string, number> {
  const all = new Set(files);
  const isBesideSource = (file: string): boolean =>
    test.test(file) && ['.ts', '.tsx', '.mjs'].some((end) => all.has(file.replace(test, end)));
  const counts = new Map<string, number>();
  for (const file of all)
    if (source.test(file) && !isBesideSource(file))
      counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  return counts;
}

/** Returns a line for each folder that has too many loose files. */
export const findFolders = (files: readonly string[]): string[] =>
  [...looseFiles(files)]
    .filter(([, count]) => count > MOST_LOOSE_FILES)
    .map(
      ([folder, count]) =>
        `${folder}: ${count} loose files, at most ${MOST_LOOSE_FILES}. Group them by task.`,
    );

if (import.meta.main) {
  const files = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' }).split('\0');
  const found = findFolders(files);
  for (const one of found) process.stderr.write(`${one}\n`);
  if (found.length > 0) process.exitCode = 1;
}
