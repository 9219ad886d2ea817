// Reads the sealed audit log from the database of the settings. It must not write.
import type { KeyObject } from 'node:crypto';
import type { EvidenceLine } from '@castellan/contract/evidence';
import { findOwnKeys } from '@castellan/server/modules/evidence/heads/keys';
import { evidenceLines } from '@castellan/server/modules/evidence/lines';
import { AppError } from '@castellan/server/platform/errors';
import { type Call, Failure, UsageError } from '../command.ts';
import { onDatabase } from '../local/database.ts';
import { INCOMPLETE } from './verdict.ts';

/**
 * Gives `work` the lines that an export would have, and the public keys whose private part SECRET_KEY opens. Rejects with a UsageError if the
 * database cannot be read: that says nothing about the log.
 */
export async function overDatabase<T>(
  call: Call,
  work: (lines: AsyncIterable<EvidenceLine>, ownKeys: readonly KeyObject[]) => Promise<T>,
): Promise<T> {
  try {
    return await onDatabase(call, { existing: true }, async ({ deps, secretKey }) =>
      work(
        evidenceLines({ ...deps, secretKey }, (read) => read(deps.db)),
        await findOwnKeys(deps.db, secretKey),
      ),
    );
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_sealed')
      throw new Failure(INCOMPLETE, 'nothing was ever sealed in this database.');
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
