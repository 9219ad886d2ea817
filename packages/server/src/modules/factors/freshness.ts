// Requires that a caller has proved a moment ago who they are: an account with a factor by the factor, another one by its
// password. By the database's clock.
import { type Acr, levelsFrom } from '@castellan/contract/authentication';
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import { AppError } from '../../platform/errors.ts';
import type { Db } from '../../schema/database.ts';
import type { Context } from '../sessions/service.ts';
import { hasFactor } from './store.ts';

export type FreshnessDeps = { settings: { stepUpMaxAgeMinutes: number } };

/** Who asks, and with what. */
type Prover = { id: string; session: { context: Context } };

/**
 * Throws `step_up_required` (403) unless the caller's token is fresh. Call it before the body is read, and again in the
 * transaction of the change.
 */
export async function requireFresh(
  db: Db,
  { settings }: FreshnessDeps,
  { id, session }: Prover,
): Promise<void> {
  const required = (await hasFactor(db, id)) ? 'aal2' : 'aal1';
  await requireContext(db, session.context, {
    acr: required,
    maxAgeSeconds: settings.stepUpMaxAgeMinutes * 60,
  });
}

/** Throws `step_up_required` (403) unless the context reaches the level and is not older. */
export async function requireContext(
  db: Db,
  context: Context,
  required: { acr: Acr; maxAgeSeconds: number | null },
): Promise<void> {
  const reached = levelsFrom(required.acr).includes(context.acr);
  if (reached && (required.maxAgeSeconds === null || (await ageOf(db, context)) <= required.maxAgeSeconds))
    return;
  throw stepUpRequired(required);
}

async function ageOf(db: Db, { authTime }: Context): Promise<number> {
  const answer = await sql<{ age: number }>`
    select extract(epoch from clock_timestamp() - ${authTime}::timestamptz)::float8 as age`.execute(db);
  return onlyRow(answer).age;
}

/** The refusal of a call whose proof is too weak or too old, as RFC 9470 words it. 403: clients answer 401 with a refresh. */
export function stepUpRequired({ acr, maxAgeSeconds }: { acr: Acr; maxAgeSeconds: number | null }): AppError {
  const challenge = [
    'Bearer error="insufficient_user_authentication"',
    'error_description="A stronger or more recent proof of the user is required"',
    `acr_values="${levelsFrom(acr).join(' ')}"`,
    ...(maxAgeSeconds === null ? [] : [`max_age="${maxAgeSeconds}"`]),
  ];
  return new AppError('step_up_required', {
    headers: { 'www-authenticate': challenge.join(', ') },
    members: { step_up: { required_acr: acr, max_age: maxAgeSeconds } },
  });
}
