// Runs prepared statements and returns the texts of their rows, for the lookups of every request. For each query,
// node-postgres asks PostgreSQL to describe the columns and makes an object of each row. Over one connection, that takes a
// seventh of the processor time of a check (bench/README.md).
// It must not parse a value.
import type { Connection, Pool, Submittable } from 'pg';

/** A column as PostgreSQL describes it. */
export type Column<R> = { readonly name: keyof R & string; readonly dataTypeID: number };
/** The values of a row, in the order of its columns. */
export type Texts = readonly (string | null)[];
export type TextRows<R> = { readonly columns: readonly Column<R>[]; readonly rows: readonly Texts[] };
/** `values`: each is an array of texts. */
export type TextStatement = { name: string; text: string; values: readonly (readonly string[])[] };

/** Returns a runner of statements on the pool. Their columns must have the names of R. It rejects as `pool.query` does. */
export const textRowsOf = (pool: Pool) => ({
  query: async <R>({ name, text, values }: TextStatement): Promise<TextRows<R>> =>
    pool.query(new TextQuery<R>(name, text, values.map(arrayText))),
});

// Such a text needs no quotes. Testing it costs less than escaping it.
const HEX_OR_UUID = /^[\da-f-]+$/;

/** Returns the array as PostgreSQL reads it (manual, 8.15.6). */
export const arrayText = (values: readonly string[]): string =>
  `{${values.map((one) => (HEX_OR_UUID.test(one) ? one : `"${one.replaceAll(/["\\]/g, '\\$&')}"`)).join()}}`;

/** The part of a connection that a query of node-postgres uses (pg/lib/query.js). Its types lack the prepared statements. */
type Wire = {
  readonly stream: { cork(): void; uncork(): void };
  /** Name → text of the statements that PostgreSQL has parsed, and of those sent to it. */
  readonly parsedStatements: Readonly<Record<string, string | undefined>>;
  readonly submittedNamedStatements: Record<string, string | undefined>;
  parse(statement: { name: string; text: string }): void;
  bind(values: { statement: string; values: readonly string[] }): void;
  describe(what: { type: 'P' }): void;
  execute(): void;
  sync(): void;
};

const isWire = (connection: object): connection is Wire =>
  'parsedStatements' in connection && 'submittedNamedStatements' in connection;

// Columns by connection and name of the statement. PostgreSQL refuses a prepared statement whose columns have changed.
const described = new WeakMap<object, Map<string, readonly unknown[]>>();

/** One run of a statement. node-postgres sends it and calls the handlers as the answer comes. */
export class TextQuery<R> implements Submittable, TextRows<R> {
  readonly name: string;
  readonly text: string;
  readonly rows: Texts[] = [];
  columns: readonly Column<R>[] = [];
  /** Set by the client. */
  callback: ((error: Error | null, answer?: this) => void) | undefined = undefined;
  readonly #values: readonly string[];
  #known = new Map<string, readonly unknown[]>();

  constructor(name: string, text: string, values: readonly string[]) {
    this.name = name;
    this.text = text;
    this.#values = values;
  }

  /** Sends the statement, in one write. Returns why it cannot. */
  submit(connection: Connection): Error | null {
    const wire: object = connection;
    if (!isWire(wire)) return new TypeError('this version of pg keeps its prepared statements elsewhere');
    const { name, text } = this;
    const parsed = wire.parsedStatements[name] ?? wire.submittedNamedStatements[name];
    if (parsed !== undefined && parsed !== text)
      return new Error(`${name} is the name of another statement, too`);
    this.#known = described.get(wire) ?? new Map();
    described.set(wire, this.#known);
    const columns = this.#known.get(name) as readonly Column<R>[] | undefined;
    this.columns = columns ?? [];
    wire.stream.cork();
    try {
      if (parsed === undefined) {
        wire.parse({ name, text });
        wire.submittedNamedStatements[name] = text;
      }
      wire.bind({ statement: name, values: this.#values });
      if (!columns) wire.describe({ type: 'P' });
      wire.execute();
      wire.sync();
    } finally {
      wire.stream.uncork();
    }
    return null;
  }

  handleRowDescription({ fields }: { fields: readonly Column<R>[] }): void {
    this.columns = fields;
    this.#known.set(this.name, fields);
  }

  handleDataRow({ fields }: { fields: Texts }): void {
    this.rows.push(fields);
  }

  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.callback?.(error);
  }

  handleReadyForQuery(): void {
    this.callback?.(null, this);
  }
}
