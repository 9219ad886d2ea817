// Reads a CSV file of users and says, for each row, what an import would do. It writes nothing.
import type { ListedUser } from '@castellan/sdk';

/** More rows are refused: each is at least two requests. */
export const MAX_ROWS = 1_000;

/** Returns the text of a file in UTF-8, or else in Windows-1252, in which spreadsheets of Western Europe save CSV. */
export function textOf(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

export const importColumns = ['email', 'first_name', 'last_name', 'roles'] as const;

/** Returns the cells of a CSV text (RFC 4180), with commas or semicolons between them. Rows without text are left out. */
export function parseCsv(text: string): string[][] {
  const body = text.replace(/^\uFEFF/, '');
  const head = body.slice(0, body.search(/[\r\n]|$/));
  const separator = head.split(';').length > head.split(',').length ? ';' : ',';
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let isQuoted = false;
  const endRow = (): void => {
    row.push(cell);
    if (row.some((one) => one.trim() !== '')) rows.push(row);
    row = [];
    cell = '';
  };
  for (let at = 0; at < body.length; at += 1) {
    const character = body[at] ?? '';
    if (isQuoted) {
      if (character !== '"') cell += character;
      else if (body[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else isQuoted = false;
    } else if (character === '"' && cell === '') isQuoted = true;
    else if (character === separator) {
      row.push(cell);
      cell = '';
    } else if (character === '\n') endRow();
    else if (character !== '\r') cell += character;
  }
  endRow();
  return rows;
}

export type ImportRow = {
  /** As in the file; the first row below the names of the columns is 2. */
  line: number;
  email: string;
  first_name: string;
  last_name: string;
  roles: string[];
};

export type FileProblem = 'empty' | 'columns' | 'rows';

/** An apostrophe that an export put before a formula is taken away again. */
const clean = (cell = ''): string => cell.trim().replace(/^'(?=[=+\-@])/, '');

/** Returns the rows, or what is wrong with the file. Columns may stand in any order; others are ignored. */
export function readRows(text: string): ImportRow[] | FileProblem {
  const [head, ...body] = parseCsv(text);
  if (!head || body.length === 0) return 'empty';
  const names = head.map((name) => name.trim().toLowerCase());
  const at = (name: string): number => names.indexOf(name);
  if (at('email') === -1 || at('first_name') === -1) return 'columns';
  if (body.length > MAX_ROWS) return 'rows';
  return body.map((cells, index) => ({
    line: index + 2,
    email: clean(cells[at('email')]).toLowerCase(),
    first_name: clean(cells[at('first_name')]),
    last_name: clean(cells[at('last_name')]),
    roles: clean(cells[at('roles')])
      .split(';')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  }));
}

type RowProblem = 'email' | 'name' | 'duplicate' | 'role';

export type Verdict =
  | { kind: 'create'; row: ImportRow; roleIds: string[] }
  | { kind: 'assign'; row: ImportRow; user: ListedUser; roleIds: string[]; roleNames: string[] }
  | { kind: 'same'; row: ImportRow; user: ListedUser }
  | { kind: 'error'; row: ImportRow; problem: RowProblem; detail: string };

/**
 * Returns what an import would do with each row. `users` are the existing users by email, `roles` the ids by name in lower
 * case. Names of existing users are not changed, and nobody loses a role.
 */
export function judgeRows(
  rows: readonly ImportRow[],
  users: ReadonlyMap<string, ListedUser>,
  roles: ReadonlyMap<string, string>,
): Verdict[] {
  const seen = new Set<string>();
  return rows.map((row): Verdict => {
    const error = (problem: RowProblem, detail: string): Verdict => ({ kind: 'error', row, problem, detail });
    if (!/^[^\s@]+@[^\s@]+$/.test(row.email)) return error('email', row.email);
    if (seen.has(row.email)) return error('duplicate', row.email);
    seen.add(row.email);
    const unknown = row.roles.filter((name) => !roles.has(name.toLowerCase()));
    if (unknown.length > 0) return error('role', unknown.join(', '));
    const user = users.get(row.email);
    const wanted = new Map(row.roles.map((name) => [roles.get(name.toLowerCase()) ?? '', name]));
    if (!user)
      return row.first_name === ''
        ? error('name', row.email)
        : { kind: 'create', row, roleIds: [...wanted.keys()] };
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
