// Publishes signed heads: in the file of this instance, and to receivers. A head that somebody else keeps is the evidence.
// It must not publish more often than once a minute.
import { sql } from 'kysely';
import { readCheckpoint, readNote } from '../../../platform/evidence/signed-note.ts';
import type { Logger } from '../../../platform/logging/log.ts';
import type { Db } from '../../../schema/database.ts';
import type { HeadsFile } from './file.ts';

type PublishedHead = { origin: string; seals: number; root: string; checkpoint: string };
export type PublishingDeps = {
  db: Db;
  log: Logger;
  headsFile: HeadsFile;
  /** Tells webhooks. */
  tell: (head: PublishedHead) => Promise<void>;
  /** Tells the audit sink, in its own time. */
  tellSink: (head: PublishedHead) => void;
};

const MIN_SECONDS = 60;

/**
 * Publishes the head, unless it was published, or another one was less than a minute ago by any instance. One that was published far in the
 * future was so while the clock was ahead, and is ignored.
 */
export async function publishHead({ db, log, headsFile, tell, tellSink }: PublishingDeps): Promise<void> {
  const { rows } = await sql<{ checkpoint: string | null }>`
    update audit_log_head set published_size = size, published_at = clock_timestamp(), published_log = log
    where checkpoint is not null and (published_log is distinct from log or published_size <> size)
      and (published_at is null or abs(extract(epoch from clock_timestamp() - published_at)) > ${MIN_SECONDS})
    returning checkpoint`.execute(db);
  const checkpoint = rows[0]?.checkpoint ?? null;
  if (checkpoint === null) return;
  // The head is in the database; the next one comes in a minute.
  const { origin, size: seals, root } = readCheckpoint(readNote(checkpoint).text);
  const head: PublishedHead = { origin, seals, root: root.toString('base64'), checkpoint };
  tellSink(head);
  await tell(head).catch((error: unknown) =>
    log.error({ err: error }, 'webhooks were not told of a head of the audit log'),
  );
  await headsFile
    .append(checkpoint)
    .catch((error: unknown) =>
      log.error({ err: error }, 'a head of the audit log was not written to AUDIT_HEADS_FILE'),
    );
}
