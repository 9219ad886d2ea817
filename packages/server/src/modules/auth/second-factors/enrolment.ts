// Changes of a person's own factors: set up, replace and remove an authenticator app, make new recovery codes.
// The first factor and every removal end all other sessions: the holder of one of them may be why the factors change.
import type { TotpEnrolment } from '@castellan/contract/factors';
import { inTransaction } from '../../../platform/db/transaction.ts';
import { AppError } from '../../../platform/errors.ts';
import { shownEmail } from '../../../platform/security/email.ts';
import { checkTotp, newTotpSecret, totpText, totpUri } from '../../../platform/security/factors/totp.ts';
import type { Db, Tx } from '../../../schema/database.ts';
import { inRecordedTransaction } from '../../audit/service.ts';
import type { UserCaller } from '../../authz/caller.ts';
import {
  beginEnrolment,
  clearCodeFailures,
  countEnrolmentFailure,
  deleteTotp,
  endEnrolment,
  hasFactor,
  readEnrolment,
  replaceRecoveryCodes,
  requireFresh,
  saveTotp,
} from '../../factors/service.ts';
import {
  type Changed,
  type Ended,
  factorAdded,
  factorRemoved,
  makeRecoveryCodes,
  ownEvent,
  presentChange,
} from './changes.ts';
import type { SecondFactorDeps } from './deps.ts';
import { readTotp } from './proofs.ts';
import { holdCaller } from './tokens.ts';

const MAX_ENROLMENT_FAILURES = 5;

/** Begins to set up an app. The app that works goes on until the new one is confirmed. */
export async function beginTotp(deps: SecondFactorDeps, caller: UserCaller): Promise<TotpEnrolment> {
  const { principal } = caller;
  if (!deps.settings.secondFactors.includes('totp'))
    throw new AppError('conflict', {
      detail: 'Authenticator apps cannot be set up here. See SECOND_FACTORS.',
    });
  const secret = newTotpSecret();
  const expiresAt = await inTransaction(deps.db, async (tx) => {
    await holdCaller(tx, caller);
    await requireFresh(tx, deps, principal);
    return beginEnrolment(tx, {
      user_id: principal.id,
      session_id: principal.session.id,
      secret_sealed: deps.totpVault.seal(principal.id, secret),
    });
  });
  const account = shownEmail(principal.email);
  return {
    secret: totpText(secret),
    uri: totpUri({ issuer: deps.settings.serviceName, account, secret }),
    algorithm: 'SHA1',
    digits: 6,
    period: 30,
    expires_at: expiresAt.toISOString(),
  };
}

/**
 * Makes the app a factor of the account. Throws `enrolment_expired` (409) unless this session set it up a moment ago, and
 * `second_factor_invalid` (422) for a wrong code, five times.
 */
export async function confirmTotp(
  deps: SecondFactorDeps,
  caller: UserCaller,
  input: string,
): Promise<Changed> {
  const code = readTotp(input);
  const { client, principal } = caller;
  // A wrong code makes no codes: hashing ten takes a fifth of a second.
  const mayBeFirst =
    !(await hasFactor(deps.db, principal.id)) && (await isOfEnrolment(deps.db, deps, caller, code));
  const codes = mayBeFirst ? await makeRecoveryCodes(deps, client, principal.id) : null;
  const outcome = await inRecordedTransaction<Ended | null>(deps, client, async (tx) => {
    const held = await holdCaller(tx, caller);
    await requireFresh(tx, deps, principal);
    const step = await stepOf(tx, deps, caller, code);
    if (step === null) {
      await countEnrolmentFailure(tx, principal.id);
      return { result: null, events: [] };
    }
    const replaced = await saveTotp(tx, { user_id: principal.id, ...step });
    await clearCodeFailures(tx, principal.id);
    await endEnrolment(tx, principal.id);
    const event = ownEvent(caller, 'totp_enrolled', { replaced });
    return factorAdded(tx, deps, caller, { held, codes, proved: 'totp', event, factor: 'app' });
  });
  if (!outcome) throw new AppError('second_factor_invalid');
  return presentChange(deps, caller, outcome);
}

/** Returns the sealed secret and the step of a right code; null for a wrong one. Throws `enrolment_expired` (409). */
async function stepOf(
  db: Tx,
  deps: SecondFactorDeps,
  { principal }: UserCaller,
  code: string,
): Promise<{ secret_sealed: Buffer; step: number } | null> {
  const enrolment = await readEnrolment(db, principal.id, principal.session.id);
  const secret = enrolment && deps.totpVault.open(principal.id, enrolment.secret_sealed);
  if (!enrolment || !secret || enrolment.failures >= MAX_ENROLMENT_FAILURES)
    throw new AppError('enrolment_expired');
  const checked = checkTotp(secret, code, { now: enrolment.now, lastStep: 0 });
  return checked === null || checked === 'replayed'
    ? null
    : { secret_sealed: enrolment.secret_sealed, step: checked.step };
}

const isOfEnrolment = (db: Db, deps: SecondFactorDeps, caller: UserCaller, code: string): Promise<boolean> =>
  inTransaction(db, async (tx) => (await stepOf(tx, deps, caller, code)) !== null);

/** Removes the app. Throws `factor_not_found` (404). */
export async function removeTotp(deps: SecondFactorDeps, caller: UserCaller): Promise<Changed> {
  const { client, principal } = caller;
  const outcome = await inRecordedTransaction(deps, client, async (tx) => {
    const held = await holdCaller(tx, caller);
    await requireFresh(tx, deps, principal);
    if (!(await deleteTotp(tx, principal.id))) throw new AppError('factor_not_found');
    const eventOf = (ended: number) => ownEvent(caller, 'totp_removed', { sessions_ended: ended });
    return factorRemoved(tx, deps, caller, { held, eventOf, factor: 'app' });
  });
  return presentChange(deps, caller, outcome);
}

/** Returns new recovery codes; the former ones end. Throws `no_factor` (409). */
export async function renewRecoveryCodes(deps: SecondFactorDeps, caller: UserCaller): Promise<string[]> {
  const { client, principal } = caller;
  if (!(await hasFactor(deps.db, principal.id))) throw new AppError('no_factor');
  const codes = await makeRecoveryCodes(deps, client, principal.id);
  await inRecordedTransaction(deps, client, async (tx) => {
    await holdCaller(tx, caller);
    await requireFresh(tx, deps, principal);
    if (!(await hasFactor(tx, principal.id))) throw new AppError('no_factor');
    await replaceRecoveryCodes(tx, principal.id, codes.rows);
    return {
      result: undefined,
      events: [ownEvent(caller, 'recovery_codes_created', { count: codes.texts.length })],
    };
  });
  return codes.texts;
}
