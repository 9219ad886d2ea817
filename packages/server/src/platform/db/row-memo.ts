// Keeps rows that a statement returned, parsed. Most rows come again unchanged: comparing their texts is cheaper than
// parsing dates and arrays, and what was computed from the row can be kept with it.
// It must not answer for the database: every row is read again, and one different character makes a new object.
import pg from 'pg';

type Texts = Record<string, string | null>;
type Field = { name: string; dataTypeID: number };

/** Give it to the statement as `types`: its columns stay texts, whatever the type of its rows says. */
export const unparsed = { getTypeParser: () => (text: string) => text };

// About 2 KB each.
const MAX_ROWS = 2_048;

/**
 * Returns a function that parses a result of `unparsed` columns and returns its rows by `ordinal`, which counts from 1; for
 * `count` keys. A row is immutable, and the same object as before if all its texts are. `id`: a column that tells rows
 * apart.
 */
export function createRowMemo<R extends object>(id: string, maxRows = MAX_ROWS) {
  const known = new Map<string | null | undefined, { texts: Texts; row: R }>();

  function parse(texts: Texts, fields: readonly Field[]): R {
    const row: Record<string, unknown> = {};
    for (const { name, dataTypeID } of fields) {
      const text = texts[name];
      if (name === 'ordinal') continue;
      const value = typeof text === 'string' ? pg.types.getTypeParser(dataTypeID, 'text')(text) : null;
      row[name] = Array.isArray(value) ? Object.freeze(value) : value;
    }
    // The statement's columns are those of R: test/sql checks it.
    return Object.freeze(row) as R;
  }

  function read(texts: Texts, fields: readonly Field[]): R {
    const key = texts[id];
    const found = known.get(key);
    if (found && isSame(found.texts, texts)) return found.row;
    const row = parse(texts, fields);
    const [oldest] = known.size < maxRows || found ? [] : known.keys();
    if (oldest !== undefined) known.delete(oldest);
    known.set(key, { texts, row });
    return row;
  }

  return (
    { rows, fields }: { rows: readonly (R & { ordinal: string })[]; fields: readonly Field[] },
    count: number,
  ): (R | undefined)[] => {
    const found = new Array<R | undefined>(count).fill(undefined);
    for (const row of rows) found[Number(row.ordinal) - 1] = read(row as Texts, fields);
    return found;
  };
}

function isSame(one: Texts, other: Texts): boolean {
  for (const name in other) if (one[name] !== other[name] && name !== 'ordinal') return false;
  return true;
}
