// Decides which statements are prepared by name. Names are for the hot path: parsed and planned once per connection, they
// cost a fraction. Lists and searches have none: from the sixth run on, PostgreSQL may reuse one plan for all values of a
// named statement, and no plan suits both a rare and a frequent text.
import { createHash } from 'node:crypto';
import { sql } from 'kysely';

const MARK = '/* planned for its values */';

/** Begins a statement whose best plan depends on its values. */
export const plannedForValues = sql.raw(MARK);

// Each name is a prepared statement on every connection. There are a few hundred fixed texts; beyond the limit, varying
// texts get no name, so that they do not fill the server's memory.
const MAX_NAMES = 1_000;
const names = new Map<string, string>();
const generated = new Set<string>();

/** Returns the name of a statement; undefined if PostgreSQL is to plan it at each run. */
export function statementName(text: string, values: readonly unknown[]): string | undefined {
  if (values.length === 0 || text.trimStart().startsWith(MARK)) return undefined;
  let name = names.get(text);
  if (name === undefined && names.size < MAX_NAMES) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 22);
    names.set(text, name);
    generated.add(name);
  }
  return name;
}

/** Returns whether `statementName` made the name, so that it says nothing to people. */
export const isGeneratedName = (name: string): boolean => generated.has(name);
