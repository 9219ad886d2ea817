// The `sub` by which an application knows an account (OpenID Connect Core, 8).
import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import type { Db, Row } from '../../schema/database.ts';

/** How an application knows people. `sector`: the host that the subject is computed from. */
export type Subjects = Pick<Row<'applications'>, 'subject_type' | 'sector'>;

/** Returns the salt that `subjectOf` needs. It never changes. */
export async function readPairwiseSalt(db: Db): Promise<Buffer> {
  const { rows } = await sql<{ salt: Buffer }>`select salt from pairwise_salt`.execute(db);
  if (!rows[0])
    throw new Error(
      'the salt of pairwise subjects is missing: restore the table pairwise_salt from a backup',
    );
  return rows[0].salt;
}

/** Returns the id of the account, or for `pairwise` 32 bytes as base64url that only applications of the sector share. */
export const subjectOf = ({ subject_type, sector }: Subjects, userId: string, salt: Buffer): string =>
  subject_type === 'public'
    ? userId
    : createHmac('sha256', salt).update(`${sector}\0${userId}`).digest('base64url');
