// Reads a backup and checks all of it on the way. It must not trust a byte: what it returns before the end may be part of a
// damaged file, so a reader acts on nothing until the end, or can undo it.
import { createHash } from 'node:crypto';
import { BackupError, cutOff, damaged } from './faults.ts';
import {
  contentOf,
  End,
  type Frame,
  framesOf,
  Header,
  MAX_ITEMS,
  Sequences,
  TableEnd,
  TableStart,
} from './format.ts';

/** In the order of the file. */
export type BackupPart =
  | { kind: 'header'; header: Header }
  | { kind: 'table'; table: TableStart }
  | { kind: 'data'; data: Buffer }
  | { kind: 'rows'; rows: number; bytes: number }
  | { kind: 'sequences'; sequences: Sequences };

/** Returns the parts of a backup. Throws a BackupError as soon as something is wrong, and whatever `source` throws. */
export async function* checkedParts(source: AsyncIterable<Uint8Array>): AsyncGenerator<BackupPart> {
  const frames = framesOf(source);
  const whole = createHash('sha256');
  const next = async (): Promise<Frame> => {
    const { value, done } = await frames.next();
    if (done) throw cutOff();
    if (value.kind !== 'E') whole.update(value.head).update(value.content);
    return value;
  };
  try {
    const first = await next();
    if (first.kind !== 'H') throw damaged('it does not begin with its header');
    yield { kind: 'header', header: contentOf(first, Header) };

    const total = { tables: 0, rows: 0 };
    const seen = new Set<string>();
    let frame = await next();
    for (; frame.kind === 'T'; frame = await next()) {
      const table = contentOf(frame, TableStart);
      if (seen.has(table.name)) throw damaged('it has a table twice');
      seen.add(table.name);
      if (seen.size > MAX_ITEMS) throw damaged('it has too many tables');
      yield { kind: 'table', table };
      const counted = yield* checkedRows(next);
      total.tables += 1;
      total.rows += counted.rows;
      yield { kind: 'rows', ...counted };
    }
    if (frame.kind !== 'S') throw damaged('its parts are in another order');
    yield { kind: 'sequences', sequences: contentOf(frame, Sequences) };

    const last = await next();
    if (last.kind !== 'E') throw damaged('its parts are in another order');
    const end = contentOf(last, End);
    if (end.tables !== total.tables || end.rows !== total.rows || end.sha256 !== whole.digest('hex'))
      throw damaged('its checksum differs');
    if (!(await frames.next()).done) throw damaged('something follows its end');
  } finally {
    await frames.return(undefined);
  }
}

async function* checkedRows(
  next: () => Promise<Frame>,
): AsyncGenerator<BackupPart, { rows: number; bytes: number }> {
  const counter = new RowCounter();
  let frame = await next();
  for (; frame.kind === 'D'; frame = await next()) {
    counter.add(frame.content);
    yield { kind: 'data', data: frame.content };
  }
  if (frame.kind !== 'R') throw damaged('its parts are in another order');
  const end = contentOf(frame, TableEnd);
  const found = counter.result();
  if (end.rows !== found.rows || end.bytes !== found.bytes || end.sha256 !== found.sha256)
    throw damaged('the checksum of a table differs');
  return { rows: found.rows, bytes: found.bytes };
}

const LINE_FEED = 0x0a;

/** Counts and hashes the rows of a table. COPY in text format ends each row with a line feed, and has no other. */
export class RowCounter {
  readonly #hash = createHash('sha256');
  rows = 0;
  #bytes = 0;

  add(data: Buffer): void {
    this.#hash.update(data);
    this.#bytes += data.length;
    for (let at = data.indexOf(LINE_FEED); at >= 0; at = data.indexOf(LINE_FEED, at + 1)) this.rows += 1;
  }

  /** Call it once, after the last row. */
  result(): { rows: number; bytes: number; sha256: string } {
    return { rows: this.rows, bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }
}

export type BackupContents = {
  header: Header;
  tables: { name: string; rows: number; bytes: number }[];
  rows: number;
};

/** Reads and checks a whole backup. Throws a BackupError if anything is wrong, and whatever `source` throws. */
export async function verifyBackup(source: AsyncIterable<Uint8Array>): Promise<BackupContents> {
  let header: Header | undefined;
  const tables: BackupContents['tables'] = [];
  let name = '';
  for await (const part of checkedParts(source)) {
    if (part.kind === 'header') header = part.header;
    if (part.kind === 'table') name = part.table.name;
    if (part.kind === 'rows') tables.push({ name, rows: part.rows, bytes: part.bytes });
  }
  if (!header) throw new BackupError('The backup has no header.');
  return { header, tables, rows: tables.reduce((sum, { rows }) => sum + rows, 0) };
}
