// Checks that released migrations do not change, by their checksums in packages/server/migrations/checksums.json.
// Usage: node scripts/checks/migrations.ts           fails when a listed migration changed or is gone, or one is not listed
//        node scripts/checks/migrations.ts --add     lists new migrations; never changes an entry
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { readMigrations } from '../../packages/server/src/platform/db/migrate.ts';

const list = new URL('../../packages/server/migrations/checksums.json', import.meta.url);

/** Returns one sentence per difference; none when files and list agree. */
export function differences(
  listed: Readonly<Record<string, string>>,
  files: readonly { name: string; checksum: string }[],
): string[] {
  const present = new Map(files.map(({ name, checksum }) => [name, checksum]));
  return [
    ...Object.entries(listed)
      .filter(([name, checksum]) => present.get(name) !== checksum)
      .map(
        ([name]) =>
          `${name} ${present.has(name) ? 'was changed' : 'is gone'}: databases have run it. Restore it, and put the change into a new migration.`,
      ),
    ...files
      .filter(({ name }) => !(name in listed))
      .map(({ name }) => `${name} is not listed: run node scripts/checks/migrations.ts --add.`),
  ];
}

if (import.meta.main) {
  const files = await readMigrations();
  const listed: Record<string, string> = existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : {};
  if (process.argv.includes('--add')) {
    const all = { ...Object.fromEntries(files.map(({ name, checksum }) => [name, checksum])), ...listed };
    writeFileSync(list, `${JSON.stringify(all, Object.keys(all).sort(), 2)}\n`);
  } else {
    const found = differences(listed, files);
    for (const one of found) process.stderr.write(`${one}\n`);
    process.exitCode = found.length === 0 ? 0 : 1;
  }
}
