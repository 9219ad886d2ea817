// Types of the database handles and of rows, from schema/tables.ts. It must not contain a query.
import type { Kysely, Selectable, Transaction } from 'kysely';
import type { Tables } from './tables.ts';

/** For reads, and for single statements that need no transaction. */
export type Db = Kysely<Tables>;
/** For statements in a transaction that the caller opened. */
export type Tx = Transaction<Tables>;
/** A row of a table, as a select returns it: bytea as Buffer, timestamptz as Date, bigint as string. */
export type Row<T extends keyof Tables> = Selectable<Tables[T]>;
