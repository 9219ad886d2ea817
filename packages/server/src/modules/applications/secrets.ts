// Creates, lists and revokes the secrets of an application.
// The text of a secret leaves this file only in the response that creates it.
import { createHash } from 'node:crypto';
import type {
  Application,
  ApplicationSecret,
  CreateApplicationSecretBody,
  NewApplicationSecret,
} from '@castellan/contract/applications';
import { requireFuture } from '../../platform/db/database-time.ts';
import { AppError } from '../../platform/errors.ts';
import { allHandled } from '../../platform/fields.ts';
import type { Settle } from '../../platform/http/plugins/idempotency.ts';
import { newId } from '../../platform/ids.ts';
import { cleanName } from '../../platform/security/record-text.ts';
import { APPLICATION_SECRET_MARK, createSecretText } from '../../platform/security/secret-text.ts';
import { type Caller, requireLasting } from '../authz/caller.ts';
import { change, type Entitled, type Entry } from '../authz/change.ts';
import { sameAccess } from '../authz/impact/impact.ts';
import { MAX_NAME_LENGTH } from './fields.ts';
import { type ApplicationDeps, applicationEntry, requireApplication, requireMayCarry } from './record.ts';
import {
  countLiveSecrets,
  findSecretsOf,
  insertSecret,
  revokeSecretRow,
  type SecretRow,
} from './secrets-store.ts';
import { findApplication } from './store.ts';

/** Characters of the secret that its record shows: 36 of 256 bits. */
const SHOWN_LENGTH = 6;
/** Enough for a replacement while the old one is in use. Every further one is one more secret to lose. */
const MAX_LIVE_SECRETS = 5;

const toSecret = ({ created_at, expires_at, last_used_at, ...row }: SecretRow): ApplicationSecret => ({
  ...row,
  created_at: created_at.toISOString(),
  expires_at: expires_at?.toISOString() ?? null,
  last_used_at: last_used_at?.toISOString() ?? null,
});

/** Returns the secrets of an application that are not revoked, newest first. Throws `application_not_found`. */
export async function listSecrets(
  { db }: ApplicationDeps,
  applicationId: string,
): Promise<ApplicationSecret[]> {
  if (!(await findApplication(db, applicationId))) throw new AppError('application_not_found');
  return (await findSecretsOf(db, applicationId)).map(toSecret);
}

/**
 * Inserts a secret of an application that is locked or new. Returns it with its text. Throws `too_many_secrets`, and
 * `user_session_required` for a personal access token.
 */
export async function issueSecret(
  entitled: Entitled,
  applicationId: string,
  { name, expiresAt }: { name: string; expiresAt: Date | null },
): Promise<ApplicationSecret & { secret: string }> {
  requireLasting(entitled.caller);
  if ((await countLiveSecrets(entitled.tx, applicationId)) >= MAX_LIVE_SECRETS)
    throw new AppError('too_many_secrets');
  const secret = createSecretText(APPLICATION_SECRET_MARK);
  const row = await insertSecret(entitled, {
    id: newId(),
    application_id: applicationId,
    name,
    prefix: secret.slice(0, APPLICATION_SECRET_MARK.length + SHOWN_LENGTH),
    secret_hash: createHash('sha256').update(secret).digest(),
    expires_at: expiresAt,
  });
  return { ...toSecret(row), secret };
}

/** Returns the audit entry about a secret, which names it and does not show it. */
export const secretEntry = (
  action: 'application_secret_created' | 'application_secret_revoked',
  application: Pick<Application, 'id' | 'name'>,
  { id, name, prefix, expires_at }: ApplicationSecret,
): Entry => ({
  ...applicationEntry(action, application.id, {
    details: { secret_id: id, prefix, secret_name: name, expires_at },
  }),
  resourceName: application.name,
});

/** Creates a secret. Throws 422, 404, 403 (a permission that tokens may carry and the caller lacks), 409. */
export async function createSecret(
  deps: ApplicationDeps,
  caller: Caller,
  applicationId: string,
  { body, settle }: { body: CreateApplicationSecretBody; settle: Settle<NewApplicationSecret> },
): Promise<NewApplicationSecret> {
  const { name: given = 'Secret', expires_at = null, ...rest } = body;
  allHandled(rest);
  const name = cleanName(given, MAX_NAME_LENGTH);
  return change(
    deps,
    caller,
    async (locking) => {
      const { entitled, application } = await requireApplication(locking, applicationId);
      await requireMayCarry(entitled, application.resources);
      const expiresAt = await requireFuture(locking.tx, expires_at);
      const issued = await issueSecret(entitled, applicationId, { name, expiresAt });
      const entry = secretEntry('application_secret_created', application, issued);
      return entitled.done(issued, sameAccess, entry);
    },
    settle,
  );
}

/** Revokes a secret. Returns its record. Throws 404. */
export async function revokeSecret(
  deps: ApplicationDeps,
  caller: Caller,
  applicationId: string,
  secretId: string,
): Promise<ApplicationSecret> {
  return change(deps, caller, async (locking) => {
    const { entitled, application } = await requireApplication(locking, applicationId);
    const row = await revokeSecretRow(entitled, applicationId, secretId);
    if (!row) throw new AppError('application_secret_not_found');
    const secret = toSecret(row);
    return entitled.done(secret, sameAccess, secretEntry('application_secret_revoked', application, secret));
  });
}
