// Writes packages/contract/src/events/members.snapshot: every member of every event, one a line. Receivers read these members, so it
// refuses to forget or change one within a version. Members may be added.
// With --check it only reports a stale file.
import { readFile, writeFile } from 'node:fs/promises';
import { PERSONAL } from '../../packages/contract/src/audit/members.ts';
import { eventSchema, eventTypes, versionOf } from '../../packages/contract/src/events/catalogue.ts';
import { isObject } from '../../packages/server/src/platform/unknown-values.ts';

const target = new URL('../../packages/contract/src/events/members.snapshot', import.meta.url);

export type Member = { isRequired: boolean; types: string[]; personal: string | null };
/** By `<type>@<version> <path>`. */
export type Snapshot = ReadonlyMap<string, Member>;

const schemasIn = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

/** Returns what a value can be: types of JSON with their format, and literals in quotes. */
function typesOf(schema: Record<string, unknown>): string[] {
  if (schema.const !== undefined) return [JSON.stringify(schema.const)];
  if (Array.isArray(schema.enum)) return schema.enum.map((one) => JSON.stringify(one));
  if (schema.anyOf !== undefined) return schemasIn(schema.anyOf).flatMap(typesOf);
  if (schema.type === undefined) return ['any'];
  return [typeof schema.format === 'string' ? `${schema.type}:${schema.format}` : String(schema.type)];
}

const itemOf = (items: Record<string, unknown>, path: string): [string, Member][] => [
  [`${path}[]`, { isRequired: true, types: typesOf(items).sort(), personal: null }],
];

/** Returns the members of a schema, those of its objects and lists too. */
function membersOf(schema: Record<string, unknown>, path: string): [string, Member][] {
  const branches = schema.anyOf === undefined ? [schema] : schemasIn(schema.anyOf);
  return branches.flatMap((branch) => {
    const required: readonly unknown[] = Array.isArray(branch.required) ? branch.required : [];
    const properties = isObject(branch.properties) ? Object.entries(branch.properties) : [];
    const own = properties.flatMap(([name, child]): [string, Member][] => {
      if (!isObject(child)) return [];
      const at = path === '' ? name : `${path}.${name}`;
      const mark = child[PERSONAL];
      const member: Member = {
        isRequired: required.includes(name),
        types: [...new Set(typesOf(child))].sort(),
        personal: typeof mark === 'string' ? mark : null,
      };
      return [[at, member], ...membersOf(child, at)];
    });
    const items = isObject(branch.items)
      ? [...itemOf(branch.items, path), ...membersOf(branch.items, `${path}[]`)]
      : [];
    return [...own, ...items];
  });
}

/** Returns the members of all events. */
export const currentMembers = (): Snapshot =>
  new Map(
    eventTypes.flatMap((type) =>
      membersOf({ ...eventSchema(type) }, '').map(([path, member]): [string, Member] => [
        `${type}@${versionOf(type)} ${path}`,
        member,
      ]),
    ),
  );

const lineOf = (key: string, { isRequired, types, personal }: Member): string =>
  `${key}${isRequired ? '' : '?'} ${types.join('|')}${personal === null ? '' : ` ${personal}`}`;

const typeIn = (key: string): string => key.slice(0, key.indexOf(' '));
const pathIn = (key: string): string => key.slice(key.indexOf(' ') + 1);

/** Returns one line for each member. What all types have is listed once, under `*`. */
export function textOf(members: Snapshot): string {
  const types = new Set([...members.keys()].map(typeIn));
  const lines = [...members].map(([key, member]) => ({
    type: typeIn(key),
    line: lineOf(pathIn(key), member),
  }));
  const counts = new Map<string, number>();
  for (const { line } of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  const common = [...counts].filter(([, count]) => count === types.size).map(([line]) => `* ${line}`);
  const own = lines.filter(({ line }) => counts.get(line) !== types.size);
  return `${[...common, ...own.map(({ type, line }) => `${type} ${line}`)].join('\n')}\n`;
}

/** Returns the members of a text that `textOf` made. */
export function readSnapshot(text: string): Snapshot {
  const lines = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [type = '', path = '', types = '', personal = null] = line.split(' ');
      const isRequired = !path.endsWith('?');
      const member: Member = { isRequired, types: types.split('|'), personal };
      return { type, path: isRequired ? path : path.slice(0, -1), member };
    });
  const named = new Set(lines.map(({ type }) => type).filter((type) => type !== '*'));
  return new Map(
    lines.flatMap(({ type, path, member }) =>
      (type === '*' ? [...named] : [type]).map((one): [string, Member] => [`${one} ${path}`, member]),
    ),
  );
}

const isLiteral = (type: string): boolean => /^["\d]|^(true|false)$/.test(type);

/** Returns what receivers of events would miss, or would not understand; each in a line. */
export function brokenPromises(before: Snapshot, after: Snapshot): string[] {
  return [...before].flatMap(([key, old]) => {
    const now = after.get(key);
    if (!now) return [`${key} is gone`];
    const lost = old.types.filter((type) => !now.types.includes(type));
    const foreign = now.types.filter((type) => !old.types.includes(type) && !isLiteral(type));
    return [
      ...(lost.length > 0 ? [`${key} is no longer ${lost.join(' or ')}`] : []),
      ...(foreign.length > 0 ? [`${key} can be ${foreign.join(' or ')}, which it could not`] : []),
      ...(old.isRequired && !now.isRequired ? [`${key} may be absent`] : []),
      ...(old.personal === now.personal
        ? []
        : [`${key} is ${now.personal ?? 'not'} personal, and was not so`]),
    ];
  });
}

if (import.meta.main) {
  const stored = await readFile(target, 'utf8').catch(() => '');
  const fresh = textOf(currentMembers());
  const broken = brokenPromises(readSnapshot(stored), currentMembers());
  if (broken.length > 0) {
    process.stderr.write(
      `Receivers rely on these members of events. Keep them, or raise the version of the action and send both:\n${broken.join('\n')}\n`,
    );
    process.exitCode = 1;
  } else if (stored !== fresh && process.argv.includes('--check')) {
    process.stderr.write('packages/contract/src/events/members.snapshot is stale: run npm run gen\n');
    process.exitCode = 1;
  } else if (stored !== fresh) {
    await writeFile(target, fresh);
    process.stdout.write('wrote packages/contract/src/events/members.snapshot\n');
  }
}
