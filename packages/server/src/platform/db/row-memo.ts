// Keeps the parsed rows of a statement. Most rows come back unchanged: comparing their texts is cheaper than parsing dates
// and arrays, and values computed from a row can be kept with it.
// It must not answer for the database: every row is read again, and one different character makes a new object.
import pg from 'pg';
import type { Column, TextRows, Texts } from './text-rows.ts';

// About 2 KB each.
const MAX_ROWS = 2_048;

type Numbered<R> = R & { ordinal: string };

/**
 * Returns a function that parses rows and returns them by their first column, `ordinal`, which counts from 1; for `count`
 * keys. A row is immutable, and the same object as before if all its texts are. The second and the third column tell rows apart.
 */
export function createRowMemo<R extends object>(maxRows = MAX_ROWS) {
  const known = new Map<string, { texts: Texts; row: R }>();

  function parse(texts: Texts, columns: readonly Column<Numbered<R>>[]): R {
    const row: Record<string, unknown> = {};
    for (const [index, { name, dataTypeID }] of columns.entries()) {
      const text = texts[index];
      if (name === 'ordinal') continue;
      const value = typeof text === 'string' ? pg.types.getTypeParser(dataTypeID, 'text')(text) : null;
      row[name] = Array.isArray(value) ? Object.freeze(value) : value;
    }
    // The statement's columns are those of R: test/sql checks it.
    return Object.freeze(row) as R;
  }

  function read(texts: Texts, columns: readonly Column<Numbered<R>>[]): R {
    const [, id, variant] = texts;
    const key = `${id} ${variant}`;
    const found = known.get(key);
    if (found && isSame(found.texts, texts)) return found.row;
    const row = parse(texts, columns);
    const [oldest] = known.size < maxRows || found ? [] : known.keys();
    if (oldest !== undefined) known.delete(oldest);
    known.set(key, { texts, row });
    return row;
  }

  return ({ rows, columns }: TextRows<Numbered<R>>, count: number): (R | undefined)[] => {
    const found = new Array<R | undefined>(count).fill(undefined);
    for (const texts of rows) found[Number(texts[0]) - 1] = read(texts, columns);
    return found;
  };
}

/** Compares all but the ordinal. */
function isSame(one: Texts, other: Texts): boolean {
  for (let index = 1; index < other.length; index += 1) if (one[index] !== other[index]) return false;
  return true;
}
