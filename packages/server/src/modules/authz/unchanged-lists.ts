// Answers 304 for a list of roles, permissions or groups that the client has already.
// It must not be used for a list with anything else in it: the two stamps cover no other table.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import { knowsTag } from '../../platform/http/static-text.ts';
import type { Db } from '../../schema/database.ts';
import { callerOf } from './caller.ts';

// Another version of the service may write the same records differently.
const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/**
 * Returns what `read` does, with a weak ETag; answers 304 without reading if If-None-Match has this ETag. `alsoShows` returns
 * what the stamps do not cover, such as counts; with it, the list is read before it is known whether it has changed.
 */
export async function unlessUnchanged<T>(
  db: Db,
  request: FastifyRequest,
  reply: FastifyReply,
  read: () => Promise<T>,
  alsoShows?: (list: T) => unknown,
): Promise<T | undefined> {
  // Both stamps are older than the list, so a change in between gives the next request another ETag, never an old list.
  const stamps = [callerOf(request).graph.stamp, await findCatalogueStamp(db)];
  const list = alsoShows && (await read());
  const shown = list && alsoShows?.(list);
  const etag = tagOf([version, request.url, ...stamps, JSON.stringify(shown ?? null)]);
  reply.header('etag', etag);
  if (!knowsTag(request.headers['if-none-match'], etag)) return list ?? read();
  reply.code(304).send();
  return undefined;
}

const tagOf = (parts: readonly string[]): string =>
  `W/"${createHash('sha256').update(parts.join('\n')).digest('base64url').slice(0, 22)}"`;

async function findCatalogueStamp(db: Db): Promise<string> {
  const { stamp } = onlyRow(
    await sql<{ stamp: string }>`select stamp::text as stamp from catalogue_version`.execute(db),
  );
  return stamp;
}
