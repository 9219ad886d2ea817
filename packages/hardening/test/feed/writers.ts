// Writers whose changes a reader of the feed should learn of, one by one. It must not judge what readers learned.
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { FeedReader } from '@castellan/testing/feed/reader';
import type { TestService } from '@castellan/testing/harness';
import { rounds } from '@castellan/testing/scenario';
import pg from 'pg';

export const WRITERS = 50;
const WRITES = rounds(20, 60);
/** One transaction in ten stays open for so long, and of the others one in ten is rolled back. */
export const LONG_MS = 1_500;

/** `endsAt`: when its end was asked for, by `performance.now()`. */
export type Written = { id: string; isCommitted: boolean; endsAt: number };

/** Renames users of its own, each in a transaction that notes the change long before it ends. */
async function write(client: pg.Client): Promise<Written[]> {
  const written: Written[] = [];
  for (let at = 0; at < WRITES; at += 1) {
    const id = randomUUID();
    await client.query(
      "insert into users (id, email, first_name, last_name) values ($1::text::uuid, $1::text || '@example.com', 'Ada', 'L')",
      [id],
    );
    await client.query(at % 4 === 3 ? 'begin isolation level repeatable read' : 'begin');
    await client.query("update users set first_name = 'Grace' where id = $1", [id]);
    await wait(at % 10 === 0 ? LONG_MS : Math.random() * 60);
    const isCommitted = at % 10 !== 5;
    written.push({ id, isCommitted, endsAt: performance.now() });
    await client.query(isCommitted ? 'commit' : 'rollback');
  }
  return written;
}

/** Runs while so many writers write. `writing` resolves with what they wrote. */
export async function withWriters(
  service: Pick<TestService, 'databaseUrl'>,
  run: (writing: Promise<Written[]>) => Promise<void>,
  count = WRITERS,
): Promise<void> {
  const clients = await Promise.all(
    Array.from({ length: count }, async () => {
      const client = new pg.Client(service.databaseUrl);
      await client.connect();
      return client;
    }),
  );
  try {
    await run(Promise.all(clients.map(write)).then((all) => all.flat()));
  } finally {
    await Promise.all(clients.map((one) => one.end()));
  }
}

/** Notes a change that comes after all others, and waits until the reader has it. */
export async function reachEnd({ sql }: Pick<TestService, 'sql'>, feed: FeedReader): Promise<void> {
  const id = randomUUID();
  await sql("insert into feed_queue (type, ref) values ('user', $1)", [id]);
  await feed.change('user', id);
}

export const idsOf = (...feeds: FeedReader[]): Set<string> =>
  new Set(feeds.flatMap((feed) => feed.changes().map(({ id }) => id)));
