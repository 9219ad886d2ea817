// Answers 304 for a list of roles, permissions or groups that the client has already.
// It must not be used for a list with anything else in it: the two stamps cover no other table.
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { knowsTag } from '@castellan/contract/etags';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import { KeptBodies } from '../../platform/http/answers/kept-bodies.ts';
import { sendSerialized, serialized } from '../../platform/http/answers/kept-text.ts';
import { tagOf as tagOfText } from '../../platform/http/answers/static-text.ts';
import type { Db } from '../../schema/database.ts';

// Another version of the service may write the same records differently.
const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

// A tree of 10,000 role groups has 5 MB, a system role with 50,000 permissions 16 MB.
const KEPT_BYTES = 32 * 2 ** 20;

/** The texts of lists, for all requests of an instance. */
export type KeptLists = {
  kept: KeptBodies;
  /** ETag → the text that another request makes now; null if it is not kept. */
  underWay: Map<string, Promise<Buffer | null>>;
};

export const createKeptLists = (): KeptLists => ({ kept: new KeptBodies(KEPT_BYTES), underWay: new Map() });

export type ListDeps = { db: Db; keptLists: KeptLists };
type Exchange = { request: FastifyRequest; reply: FastifyReply };

/**
 * Returns what `read` does, or sends it, with a weak ETag; answers 304 without reading if If-None-Match has this ETag. Keeps
 * the text for the next requests with this ETag. `alsoShows` returns what the stamps do not cover, such as counts; with it,
 * the list is read before it is known whether it has changed, and its text is not kept.
 */
export async function unlessUnchanged<T extends Record<string, unknown>>(
  deps: ListDeps,
  { request, reply }: Exchange,
  read: () => Promise<T>,
  alsoShows?: (list: T) => unknown,
): Promise<T | undefined> {
  // Both stamps are older than the list, so a change in between gives the next request another ETag, never an old list.
  const stamps = await findStamps(deps.db);
  if (alsoShows === undefined) {
    const parts = async () => [serialized(reply, await read())];
    await sendParts(deps, { request, reply, stamps, shown: null }, parts);
    return undefined;
  }
  const list = await read();
  return isKnown(request, reply, tagOf(request, stamps, alsoShows(list))) ? undefined : list;
}

/**
 * Sends the parts of a text, as `unlessUnchanged` does. A long text is not kept, and its parts are written as the client reads
 * them. `shown` is what the stamps do not cover; it must be older than the parts.
 */
export async function sendPartsUnlessUnchanged(
  deps: ListDeps,
  exchange: Exchange,
  shown: unknown,
  read: () => Promise<Iterable<string>>,
): Promise<void> {
  await sendParts(deps, { ...exchange, stamps: await findStamps(deps.db), shown }, read);
}

type Sending = Exchange & { stamps: Stamps; shown: unknown };

async function sendParts(
  { db, keptLists: { kept, underWay } }: ListDeps,
  { request, reply, stamps, shown }: Sending,
  read: () => Promise<Iterable<string>>,
): Promise<void> {
  const etag = tagOf(request, stamps, shown);
  if (isKnown(request, reply, etag)) return;
  // Everybody who polls asks again after a change, so one request makes the text for all that wait for it.
  const known = kept.get(etag) ?? (await underWay.get(etag)?.catch(() => null));
  if (known) return void sendSerialized(reply, known);
  const made = Promise.withResolvers<Buffer | null>();
  // Nobody may be waiting for it.
  made.promise.catch(() => undefined);
  underWay.set(etag, made.promise);
  try {
    const parts = (await read())[Symbol.iterator]();
    const { start, isAll } = await collect(parts, kept.mostOfOne);
    if (!isAll) {
      made.resolve(null);
      // Part by part, so that one text and not the whole list is in memory for a slow reader.
      return void (await sendSerialized(reply, Readable.from(joined(start, parts), { highWaterMark: 1 })));
    }
    const text = Buffer.concat(start);
    // A change during the read may be in the list. After a failover without that change, the stamps would be these again.
    const isCurrent = isDeepStrictEqual(await findStamps(db), stamps);
    if (isCurrent) kept.set(etag, text);
    made.resolve(isCurrent ? text : null);
    sendSerialized(reply, text);
  } catch (error) {
    made.reject(error);
    throw error;
  } finally {
    if (underWay.get(etag) === made.promise) underWay.delete(etag);
  }
}

/** Takes parts until they have more than `mostBytes`. Other requests run in between. */
async function collect(
  parts: Iterator<string>,
  mostBytes: number,
): Promise<{ start: Buffer[]; isAll: boolean }> {
  const start: Buffer[] = [];
  for (let bytes = 0; bytes <= mostBytes; bytes += start.at(-1)?.length ?? 0) {
    const { done, value } = parts.next();
    if (done) return { start, isAll: true };
    start.push(Buffer.from(value));
    if (start.length > 1) await nextTurn();
  }
  return { start, isAll: false };
}

function* joined(start: readonly Buffer[], rest: Iterator<string>): Generator<Buffer, void> {
  yield* start;
  for (let next = rest.next(); !next.done; next = rest.next()) yield Buffer.from(next.value);
}

/** Sets the ETag; answers 304 if the client has it. */
function isKnown({ headers }: FastifyRequest, reply: FastifyReply, etag: string): boolean {
  reply.header('etag', etag);
  const known = knowsTag(headers['if-none-match'], etag);
  if (known) reply.code(304).send();
  return known;
}

function tagOf({ url }: FastifyRequest, { authz, catalogue }: Stamps, shown: unknown): string {
  const text = [version, url, authz, catalogue, JSON.stringify(shown)].join('\n');
  return `W/${tagOfText(text)}`;
}

type Stamps = { authz: string; catalogue: string };

/** Returns the stamps of `authz_version` and `catalogue_version`. */
async function findStamps(db: Db): Promise<Stamps> {
  return onlyRow(
    await sql<Stamps>`
      select a.stamp::text as authz, c.stamp::text as catalogue from authz_version a, catalogue_version c`.execute(
      db,
    ),
  );
}
