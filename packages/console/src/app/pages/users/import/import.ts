// Reads a CSV file of users and says, for each row, what an import would do. It writes nothing.
import type { AccessImpact, ListedUser, UserAttribute } from '@castellan/sdk';
import type { Values } from '../../../components/attributes/values.ts';
import {
  CsvError,
  type CsvFault,
  type CsvRow,
  parseCsv,
  withoutApostrophes,
} from '../../../components/lists/csv.ts';
import {
  type AttributeCells,
  type AttributeProblem,
  attributeColumns,
  readAttributes,
} from './import-attributes.ts';

/** More rows are refused: each is at least two requests. */
export const MAX_ROWS = 1_000;

/** Larger files are not read. */
export const MAX_BYTES = 5_242_880;

/**
 * Returns the text of a file in UTF-8, in UTF-16 with a byte order mark, or else in Windows-1252, in which spreadsheets of
 * Western Europe save CSV.
 */
export function textOf(bytes: ArrayBuffer): string {
  const [first, second] = new Uint8Array(bytes);
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

export const importColumns = ['email', 'first_name', 'last_name', 'roles', 'external_id'] as const;

export type ImportRow = {
  /** The line of the file in which the row begins. */
  line: number;
  email: string;
  first_name: string;
  last_name: string;
  roles: string[];
  external_id: string;
  attributes: AttributeCells;
  /** The row has more cells than the first one: a quote or a separator is wrong. */
  isTooLong: boolean;
};

/** What is wrong with the file, and the line where one can be named. */
export type FileProblem =
  | { problem: 'empty' | 'columns' | 'rows' | 'size' }
  | { problem: CsvFault; line: number };

/** Returns the rows, or what is wrong with the file. Columns may be in any order; others are ignored. */
export function readRows(text: string): ImportRow[] | FileProblem {
  let rows: CsvRow[];
  try {
    rows = parseCsv(text);
  } catch (error) {
    if (error instanceof CsvError) return { problem: error.fault, line: error.line };
    throw error;
  }
  const [head, ...body] = rows;
  if (!head || body.length === 0) return { problem: 'empty' };
  const names = head.cells.map((name) => name.trim().toLowerCase());
  const ofAttributes = attributeColumns(names);
  const isTwice = [...importColumns, ...ofAttributes].some(
    (name) => names.indexOf(name) !== names.lastIndexOf(name),
  );
  if (!names.includes('email') || !names.includes('first_name') || isTwice) return { problem: 'columns' };
  if (body.length > MAX_ROWS) return { problem: 'rows' };
  return body.map(({ line, cells }) => {
    const read = (name: string): string => withoutApostrophes((cells[names.indexOf(name)] ?? '').trim());
    return {
      line,
      email: read('email').toLowerCase(),
      first_name: read('first_name'),
      last_name: read('last_name'),
      roles: read('roles')
        .split(';')
        .map((name) => name.trim())
        .filter((name) => name !== ''),
      external_id: read('external_id'),
      attributes: Object.fromEntries(ofAttributes.map((name) => [name, read(name)])),
      isTooLong: cells.slice(names.length).some((one) => one.trim() !== ''),
    };
  });
}

/** Returns the same text for both spellings of an email with an internationalized domain (`@münchen.de`, `@xn--mnchen-3ya.de`). */
export function emailKey(email: string): string {
  const at = email.lastIndexOf('@') + 1;
  const url = `http://${email.slice(at)}`;
  return /[^\0-\x7f]/.test(email) && URL.canParse(url)
    ? `${email.slice(0, at)}${new URL(url).hostname}`
    : email;
}

type RowProblem = 'cells' | 'email' | 'name' | 'duplicate' | 'role' | AttributeProblem['problem'];

export type Verdict =
  | { kind: 'create'; row: ImportRow; roleIds: string[]; attributes: Values }
  | { kind: 'assign'; row: ImportRow; user: ListedUser; roleIds: string[]; roleNames: string[] }
  | { kind: 'same'; row: ImportRow; user: ListedUser }
  | { kind: 'error'; row: ImportRow; problem: RowProblem; detail: string };

/**
 * Returns what an import would do with each row. `users` are the existing users by `emailKey`, `roles` the ids by name in lower
 * case, `attributes` those that are declared. Existing users keep their names and attributes, and nobody loses a role.
 */
export function judgeRows(
  rows: readonly ImportRow[],
  users: ReadonlyMap<string, ListedUser>,
  roles: ReadonlyMap<string, string>,
  attributes: readonly UserAttribute[],
): Verdict[] {
  const lines = new Map<string, number>();
  return rows.map((row): Verdict => {
    const error = (problem: RowProblem, detail: string): Verdict => ({ kind: 'error', row, problem, detail });
    if (row.isTooLong) return error('cells', '');
    if (!/^[^\s@]+@[^\s@]+$/.test(row.email)) return error('email', row.email);
    const key = emailKey(row.email);
    const earlier = lines.get(key);
    if (earlier !== undefined) return error('duplicate', String(earlier));
    lines.set(key, row.line);
    const unknown = row.roles.filter((name) => !roles.has(name.toLowerCase()));
    if (unknown.length > 0) return error('role', unknown.join(', '));
    const user = users.get(key);
    const wanted = new Map(row.roles.map((name) => [roles.get(name.toLowerCase()) ?? '', name]));
    if (!user) {
      if (row.first_name === '') return error('name', row.email);
      const read = readAttributes(row.attributes, attributes);
      return 'problem' in read
        ? error(read.problem, read.detail)
        : { kind: 'create', row, roleIds: [...wanted.keys()], attributes: read.values };
    }
    const added = [...wanted].filter(([id]) => !user.roles.some((role) => role.id === id));
    if (added.length === 0) return { kind: 'same', row, user };
    return {
      kind: 'assign',
      row,
      user,
      roleIds: added.map(([id]) => id),
      roleNames: added.map(([, name]) => name),
    };
  });
}

/** Returns what new users gain: they have nothing but the roles of their rows. */
export function impactOfCreation(
  verdicts: readonly Verdict[],
  roles: ReadonlyMap<string, { permissions: readonly { name: string }[] }>,
): AccessImpact {
  const subjects = verdicts.flatMap((verdict) => {
    if (verdict.kind !== 'create') return [];
    const gained = new Set(
      verdict.roleIds.flatMap((id) => roles.get(id)?.permissions.map(({ name }) => name) ?? []),
    );
    const { email, first_name, last_name } = verdict.row;
    const name = `${`${first_name} ${last_name}`.trim()} (${email})`;
    return gained.size === 0
      ? []
      : [{ type: 'user' as const, id: email, name, gained: [...gained].toSorted(), lost: [] }];
  });
  const counts = new Map<string, number>();
  for (const permission of subjects.flatMap(({ gained }) => gained))
    counts.set(permission, (counts.get(permission) ?? 0) + 1);
  return {
    gaining: subjects.length,
    losing: 0,
    gained: [...counts].toSorted().map(([permission, count]) => ({ permission, subjects: count })),
    lost: [],
    subjects,
    more: 0,
    inactive: 0,
  };
}
