// What waits in a browser after a provider said who somebody is: reads it, withdraws it, and mails and checks codes for addresses.
// A code counts only in the browser that began: with a link, a click in a stranger's mail would give the address to their identity.
import { hash } from 'node:crypto';
import type { PendingIdentity } from '@castellan/contract/identities';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { overLimit } from '../../platform/http/plugins/rate-limits.ts';
import { requireEmail, shownEmail } from '../../platform/security/email.ts';
import { recordEvent } from '../audit/service.ts';
import { mayMail } from '../auth/abuse.ts';
import { seenFrom } from '../auth/warn.ts';
import { findProviderById, type ProviderRow } from '../identity-providers/store.ts';
import { type Ended, endedBy } from './callback.ts';
import { decideByCode, type Kept } from './decision.ts';
import type { ProviderSignInDeps } from './deps.ts';
import type { Proven } from './reading.ts';
import { type Begun, openBegun } from './start.ts';
import { findPendingRow, finishPending, hashOf, noteEmail, type PendingRow, takeCodeTry } from './store.ts';

type PendingDeps = Pick<ProviderSignInDeps, 'db' | 'providerSignIns'>;
type Pending = { row: PendingRow; kept: Kept; provider: ProviderRow };

/** Returns what waits in the browser with this cookie. Throws `pending_identity_not_found` (404). */
async function requirePending(deps: PendingDeps, cookie: string | undefined): Promise<Pending> {
  const row = cookie === undefined ? undefined : await findPendingRow(deps.db, hashOf(cookie));
  const kept = row?.result_sealed && deps.providerSignIns.openState<Kept>(row.state_hash, row.result_sealed);
  const provider = kept && (await findProviderById(deps.db, row.provider_id));
  if (!row || !kept || !provider) throw new AppError('pending_identity_not_found');
  return { row, kept, provider };
}

/** An identity that can be connected to the account of a person who proves to own one. */
export type PendingConnection = { stateHash: Buffer; provider: ProviderRow; proven: Proven };

/**
 * Returns the identity that waits in the browser with this cookie, whatever its person has to do. Call `finishPending` in the
 * transaction that connects it. Throws `pending_identity_not_found` (404).
 */
export async function requirePendingIdentity(
  deps: PendingDeps,
  cookie: string | undefined,
): Promise<PendingConnection> {
  const { row, kept, provider } = await requirePending(deps, cookie);
  if (kept.step === 'second_factor') throw new AppError('pending_identity_not_found');
  return { stateHash: row.state_hash, provider, proven: kept.proven };
}

export async function readPendingIdentity(
  deps: PendingDeps,
  cookie: string | undefined,
): Promise<PendingIdentity> {
  const { kept, provider } = await requirePending(deps, cookie);
  const email = kept.step === 'second_factor' ? kept.email : kept.proven.email;
  return {
    provider: { slug: provider.slug, name: provider.name },
    email: email === null ? null : shownEmail(email),
    step: kept.step,
    ...(kept.step === 'second_factor' ? { second_factor: kept.request } : {}),
  };
}

export async function withdrawPending(deps: PendingDeps, cookie: string | undefined): Promise<void> {
  const { row } = await requirePending(deps, cookie);
  await finishPending(deps.db, row.state_hash);
}

type Asking = Pending & { kept: { step: 'email'; proven: Proven } };

async function requireEmailStep(deps: PendingDeps, cookie: string | undefined): Promise<Asking> {
  const pending = await requirePending(deps, cookie);
  if (pending.kept.step !== 'email') throw new AppError('pending_identity_not_found');
  return { ...pending, kept: { step: 'email', proven: pending.kept.proven } };
}

/**
 * Queues the mail. Returns nothing: the answer and its time are the same for every address. Throws `pending_identity_not_found` (404),
 * and `rate_limited` (429) for a person who asks too often, whatever the addresses: nobody is to flood mailboxes.
 */
export async function mailCode(
  deps: ProviderSignInDeps,
  client: Client,
  cookie: string | undefined,
  input: string,
): Promise<void> {
  const { row, kept, provider } = await requireEmailStep(deps, cookie);
  const email = requireEmail(input);
  await countAsked(deps, provider, kept.proven);
  const isAllowed = await mayMail(deps, 'provider', email);
  if (isAllowed) {
    await inTransaction(deps.db, async (tx) => {
      await noteEmail(tx, row.state_hash, email);
      const seen = seenFrom(client, email, new Date(deps.clock.now()));
      const signIn = row.state_hash.toString('hex');
      await deps.accountMail.enqueue(tx, 'provider_code', { ...seen, sign_in: signIn });
    });
    deps.accountMail.wake();
  }
  await recordEvent(deps, client, {
    action: 'verification_email_sent',
    actorId: null,
    details: { email, outcome: isAllowed ? 'queued' : 'limited', provider: provider.slug },
  });
}

/** Counts by the identity, which outlasts its sign-ins. */
async function countAsked(
  { limiter, settings }: ProviderSignInDeps,
  { id }: ProviderRow,
  { issuer, subject }: Proven,
): Promise<void> {
  const rule = settings.accountEmailLimit;
  if (rule === null) return;
  const identity = hash('sha256', JSON.stringify([id, issuer, subject]), 'base64url');
  const counted = await limiter.hit(`provider-identity-mail|${identity}`, rule);
  if (!counted.allowed) throw overLimit(counted);
}

const noCode = { code_hash: null, email: null };

/** Goes on with the address that the code proves. Throws `code_invalid` (422), and as `mailCode`. */
export async function confirmCode(
  deps: ProviderSignInDeps,
  {
    client,
    cookie,
    deviceTokens,
  }: { client: Client; cookie: string | undefined; deviceTokens: readonly string[] },
  input: string,
): Promise<Ended> {
  const { row, kept, provider } = await requireEmailStep(deps, cookie);
  const begun: Begun | null = openBegun(deps, row);
  if (!begun) throw new AppError('pending_identity_not_found');
  const code = input.replaceAll(/[\s-]/g, '');
  // Counted before it is compared, so that parallel tries get no more than their number.
  const { code_hash: codeHash, email } = (await takeCodeTry(deps.db, row.state_hash)) ?? noCode;
  if (!codeHash || email === null || !deps.providerSignIns.isCode(row.state_hash, code, codeHash)) {
    await recordEvent(deps, client, {
      action: 'verification_refused',
      actorId: null,
      details: { reason: 'code_invalid', provider: provider.slug, ...(email === null ? {} : { email }) },
    });
    throw new AppError('code_invalid');
  }
  const arrival = {
    client,
    browserId: begun.browserId,
    deviceTokens,
    provider,
    proven: kept.proven,
    stateHash: row.state_hash,
  };
  const outcome = await decideByCode(deps, arrival, { email, code: codeHash });
  if ('refused' in outcome && outcome.refused === 'code_used') throw new AppError('code_invalid');
  return endedBy(deps, { client, slug: provider.slug, onward: begun }, outcome);
}
