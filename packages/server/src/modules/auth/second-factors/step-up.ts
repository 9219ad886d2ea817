// Proves again, inside a session, who its user is. New tokens carry the proof; earlier ones keep what they had.
import { type Acr, proofs, reaches } from '@castellan/contract/authentication';
import type { StepUpBody, StepUpOptions, StepUpOptionsBody } from '@castellan/contract/factors';
import { AppError } from '../../../platform/errors.ts';
import type { Tx } from '../../../schema/database.ts';
import { type AuditEvent, inRecordedTransaction } from '../../audit/service.ts';
import type { UserCaller } from '../../authz/caller.ts';
import { strongerOf } from '../../authz/graph/needs.ts';
import { accountLevel } from '../../authz/requirements/account.ts';
import {
  askablePasskeys,
  type FactorFacts,
  findFactorFacts,
  hasFactor,
  judgeCode,
  judgePasskey,
  listPasskeys,
  methodsOf,
  type PreparedCode,
  type PreparedPasskey,
  passkeyRequest,
  preparePasskey,
  prepareRecoveryCode,
} from '../../factors/service.ts';
import { findPasswordHolder } from '../../passwords/service.ts';
import { type Context, findSessionDevice, inSeconds, type SessionTokens } from '../../sessions/service.ts';
import { requireCurrentPassword } from '../password-change.ts';
import { seenFrom, warnOfCode } from '../warn.ts';
import type { SecondFactorDeps } from './deps.ts';
import { asSeenFrom } from './pending.ts';
import { firstProofOf, onlyProof, type ProofInput, type Refusal, refusalOf, requireOne } from './proofs.ts';
import { eventsOfUse } from './second-step.ts';
import { goOn, type Held, holdCaller } from './tokens.ts';

export type SteppedUp<T = SessionTokens> = { tokens: T; context: Context };

/** Writes the tokens that carry the new proof. */
type Carry<T> = (
  tx: Tx,
  deps: SecondFactorDeps,
  caller: UserCaller,
  proved: { held: Held; context: Context },
) => Promise<T>;

/** How long a client may wait with the answer to the options. */
const OPTIONS_MINUTES = 10;

const levelOf: Record<StepUpOptions['methods'][number], Acr> = {
  passkey: 'phr',
  totp: 'aal2',
  recovery_code: 'aal2',
  password: 'aal1',
};

/**
 * Returns the ways to reach the level that is asked for, and that of the account. Throws `second_factor_enrolment_required` (403)
 * if the account has none, and `no_password` (400) if a password would do and it has neither one nor a factor.
 */
export async function stepUpOptions(
  deps: SecondFactorDeps,
  { principal, graph, policy, judgedAt: now }: UserCaller,
  { acr: asked = 'aal1' }: StepUpOptionsBody,
): Promise<StepUpOptions> {
  const acr = strongerOf(asked, accountLevel({ graph, policy, now }, principal.subject)) ?? asked;
  const facts = await factsOf(deps, principal);
  const passkeys = askablePasskeys(deps.passkeySite, await listPasskeys(deps.db, principal.id));
  const withFactor = await hasFactor(deps.db, principal.id);
  if (!withFactor && reaches(levelOf.password, acr) && !principal.record.has_password)
    throw new AppError('no_password');
  const own = withFactor ? methodsOf(facts, passkeys) : (['password'] as const);
  const methods = own.flatMap((method) =>
    method !== 'recovery_link' && reaches(levelOf[method], acr) ? [method] : [],
  );
  if (methods.length === 0 && facts.codes_locked_until !== null && reaches('aal2', acr))
    throw new AppError('second_factor_locked', {
      retryAfterSeconds: (facts.codes_locked_until.getTime() - deps.clock.now()) / 1_000,
    });
  if (methods.length === 0)
    throw new AppError('second_factor_enrolment_required', { members: { required_acr: acr } });
  const { id, context } = principal.session;
  // Sessions that began with a passkey have tokens without these.
  const beganOtherwise = context.amr.includes('pwd') || context.amr.includes('fed');
  const userVerification = beganOtherwise ? 'preferred' : 'required';
  return {
    methods,
    ...(passkeys && methods.includes('passkey')
      ? { passkey: passkeyRequest(deps, ceremonyOf(id), passkeys, userVerification).options }
      : {}),
    expires_at: new Date(deps.clock.now() + OPTIONS_MINUTES * 60_000).toISOString(),
  };
}

/** Returns the factors of the caller, as the device of the session sees them. */
async function factsOf(
  { db, settings }: SecondFactorDeps,
  { id: userId, session }: UserCaller['principal'],
): Promise<FactorFacts> {
  const facts = await findFactorFacts(db, userId);
  if (!facts) throw new AppError('token_revoked');
  if (facts.codes_locked_until === null) return facts;
  return asSeenFrom(db, settings, { userId, deviceId: await findSessionDevice(db, session.id) }, facts);
}

const ceremonyOf = (sessionId: string) => ({ purpose: 'step_up', binding: sessionId }) as const;

/**
 * Returns new tokens of the same session with the new context. An account with a factor steps up by a factor: a thief of
 * session and password must not make an old proof young. Throws what a second step throws, `wrong_current_password`
 * (400) and `account_locked` (422).
 */
export function stepUp(deps: SecondFactorDeps, caller: UserCaller, body: StepUpBody): Promise<SteppedUp>;
export function stepUp<T>(
  deps: SecondFactorDeps,
  caller: UserCaller,
  body: StepUpBody,
  carry: Carry<T>,
): Promise<SteppedUp<T>>;
export async function stepUp(
  deps: SecondFactorDeps,
  caller: UserCaller,
  body: StepUpBody,
  carry: Carry<unknown> = goOn,
): Promise<SteppedUp<unknown>> {
  requireOne(body, ['password', 'totp', 'recovery_code', 'passkey']);
  const { password, ...factor } = body;
  return password === undefined
    ? byFactor(deps, caller, factor, carry)
    : byPassword(deps, caller, password, carry);
}

async function byPassword<T>(
  deps: SecondFactorDeps,
  caller: UserCaller,
  password: string,
  carry: Carry<T>,
): Promise<SteppedUp<T>> {
  const { client, principal } = caller;
  const refuse = (): AppError =>
    new AppError('validation_failed', {
      errors: [
        {
          field: 'password',
          code: 'not_allowed',
          message: 'is not enough for an account with a second factor; send totp, recovery_code or passkey',
        },
      ],
    });
  if (await hasFactor(deps.db, principal.id)) throw refuse();
  const holder = await findPasswordHolder(deps.db, principal.id);
  if (!holder) throw new AppError('token_revoked');
  await requireCurrentPassword(deps, client, {
    holder,
    password,
    refusalOf: (reason) => failureEvent(caller, 'password', reason),
  });
  return inRecordedTransaction(deps, client, async (tx) => {
    const held = await holdCaller(tx, caller);
    if (held.locked.has_factor) throw refuse();
    // A password that has been replaced proves nothing.
    if (held.locked.password_epoch !== holder.password_epoch) throw new AppError('wrong_current_password');
    const context = { ...proofs.password, authTime: inSeconds(held.locked.now) };
    const tokens = await carry(tx, deps, caller, { held, context });
    return { result: { tokens, context }, events: [successEvent(caller, 'password', context)] };
  });
}

async function byFactor<T>(
  deps: SecondFactorDeps,
  caller: UserCaller,
  input: Omit<StepUpBody, 'password'>,
  carry: Carry<T>,
): Promise<SteppedUp<T>> {
  const { client, principal } = caller;
  const proof = onlyProof(input);
  const { method } = proof;
  const account = { userId: principal.id, email: principal.email };
  return deps.attemptGate.run(`factor ${principal.id}`, client, async () => {
    const prepared = await prepare(deps, caller, proof);
    const outcome = await inRecordedTransaction<SteppedUp<T> | Refusal>(deps, client, async (tx) => {
      const held = await holdCaller(tx, caller);
      const { proof: began, device_id: deviceId } = held.session;
      const verdict =
        prepared.method === 'passkey'
          ? await judgePasskey(tx, deps, account, { prepared, mustVerifyUser: began === 'passkey' })
          : held.locked.has_factor
            ? await judgeCode(tx, deps, { ...account, deviceId }, prepared)
            : nothingGuessed;
      await warnOfCode(tx, deps, seenFrom(client, principal.email, held.locked.now), verdict);
      if ('refused' in verdict)
        return {
          result: verdict,
          events: [...verdict.consequences, failureEvent(caller, method, verdict.refused)],
        };
      const context = { ...contextAfter(began, method), authTime: inSeconds(held.locked.now) };
      const tokens = await carry(tx, deps, caller, { held, context });
      const events = [...eventsOfUse(account, verdict), successEvent(caller, method, context)];
      return { result: { tokens, context }, events };
    });
    if ('refused' in outcome) throw refusalOf(outcome);
    return outcome;
  });
}

async function prepare(
  deps: SecondFactorDeps,
  { client, principal }: UserCaller,
  proof: ProofInput,
): Promise<PreparedCode | PreparedPasskey> {
  const { id, session } = principal;
  if (proof.method === 'passkey')
    return preparePasskey(deps, proof.response, { userId: id, ...ceremonyOf(session.id) });
  return proof.method === 'totp'
    ? { method: proof.method, code: proof.code }
    : prepareRecoveryCode(deps, client, id, proof.text);
}

/** At an account without a factor nothing can be guessed, and nothing may count against a later one. */
const nothingGuessed: Refusal = { refused: 'wrong_code', isCounted: false, consequences: [] };

/** The context of the last proof. Its methods name what the session began with, too. */
function contextAfter(began: string | null, method: ProofInput['method']): Pick<Context, 'acr' | 'amr'> {
  const { acr, amr } = proofs[`${firstProofOf(began)}+${method}`];
  if (began !== 'passkey') return { acr, amr };
  return { acr, amr: [...new Set(['pop', 'user', ...amr.filter((one) => one !== 'pwd')])] };
}

const successEvent = (
  { principal }: UserCaller,
  method: string,
  { acr }: Pick<Context, 'acr'>,
): AuditEvent => ({
  action: 'step_up_succeeded',
  actorId: principal.id,
  resourceId: principal.id,
  details: { email: principal.email, method, acr, session_id: principal.session.id },
});

const failureEvent = ({ principal }: UserCaller, method: string, reason: string): AuditEvent => ({
  action: 'step_up_failed',
  actorId: principal.id,
  resourceId: principal.id,
  details: { email: principal.email, method, reason, session_id: principal.session.id },
});
