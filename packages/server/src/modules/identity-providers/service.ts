// Rules of identity providers as records: who may write one, and what ends with a change.
// What people do at them is in modules/provider-sign-in, what a provider is asked in upstream/.
import { isDeepStrictEqual } from 'node:util';
import type { Pagination } from '@castellan/contract/common';
import type {
  CreateIdentityProviderBody,
  DeleteIdentityProviderQuery,
  IdentityProvider,
  IdentityProviderListQuery,
  ProviderPreviewEnvelope,
  ProviderTest,
  UpdateIdentityProviderBody,
  UpdateIdentityProviderQuery,
} from '@castellan/contract/identity-providers';
import { AppError } from '../../platform/errors.ts';
import type { Settle } from '../../platform/http/plugins/idempotency.ts';
import { requireVersion, type Versioned } from '../../platform/http/record-version.ts';
import { newId } from '../../platform/ids.ts';
import { paginationOf } from '../../platform/pages.ts';
import { requireNoId } from '../../platform/security/record-text.ts';
import { authorIdOf, type Caller } from '../authz/caller.ts';
import { change, type Entitled, lockSubjects, type Run } from '../authz/change.ts';
import { sameAccess } from '../authz/impact/impact.ts';
import { endSignIns } from './ends.ts';
import { deleteUnfinished, hasIdentities } from './ends-store.ts';
import { changedFields, defaultsOf, type ProviderFields } from './fields.ts';
import { previewEnds } from './preview.ts';
import {
  fieldsOf,
  type ProviderDeps,
  providerEntry,
  requireMayWrite,
  requireProvider,
  requireRoles,
  toProvider,
  versionedProvider,
} from './record.ts';
import { refusal } from './refusal.ts';
import { secretIn } from './secret.ts';
import {
  countProviders,
  deleteProviderRow,
  findClaimedDomain,
  findProviderById,
  hasSlug,
  insertProvider,
  lastPosition,
  listProviders as listRows,
  type ProviderRow,
  readProvider,
  updateProvider as updateRow,
} from './store.ts';
import { checkProvider } from './upstream/check.ts';

/** Returns one page of providers, in the order of their buttons. */
export async function listProviders(
  { db, settings }: ProviderDeps,
  query: IdentityProviderListQuery,
): Promise<{ data: IdentityProvider[]; pagination: Pagination }> {
  const [total, rows] = await Promise.all([countProviders(db), listRows(db, query)]);
  return { data: rows.map((row) => toProvider(row, settings)), pagination: paginationOf(query, total) };
}

export async function getProvider(
  { db, settings }: ProviderDeps,
  id: string,
): Promise<Versioned<IdentityProvider>> {
  const provider = await findProviderById(db, id);
  if (!provider) throw new AppError('identity_provider_not_found');
  return versionedProvider(provider, settings);
}

/**
 * Reads what the provider publishes, now, and says what is wrong. Changes nothing, and holds no connection while it waits. Throws
 * 404, 403 unless the caller is a superuser.
 */
export async function testProvider(deps: ProviderDeps, caller: Caller, id: string): Promise<ProviderTest> {
  const provider = await change(deps, caller, async (locking) => {
    const found = await findProviderById(locking.tx, id);
    if (!found) throw new AppError('identity_provider_not_found');
    const entitled = await locking.entitle();
    await requireMayWrite(entitled);
    return entitled.unchanged(found);
  });
  return checkProvider(deps, provider);
}

/** Creates a provider. Throws 422, 403 unless the caller is a superuser, 404 (role), 409 (slug). */
export async function createProvider(
  deps: ProviderDeps,
  caller: Caller,
  body: CreateIdentityProviderBody,
  settle: Settle<Versioned<IdentityProvider>>,
): Promise<Versioned<IdentityProvider>> {
  const { slug: givenSlug, kind, client_secret, private_key, ...given } = body;
  const slug = cleanSlug(givenSlug);
  const fields = changedFields(defaultsOf(kind, 0), given, { kind, publicUrl: deps.settings.publicUrl });
  const secret = secretIn({ client_secret, private_key }, kind) ?? null;
  requireSecret(fields, { kind, has: secret !== null });
  const id = newId();
  return change(
    deps,
    caller,
    async (locking) => {
      const { tx } = locking;
      await lockSubjects(locking, {});
      const entitled = await locking.entitle();
      await requireMayWrite(entitled);
      if (given.position === undefined) fields.position = await lastPosition(tx);
      if (await hasSlug(tx, slug)) throw slugTaken();
      await requireUnclaimed(entitled, id, fields);
      await requireRoles(entitled, fields);
      await insertProvider(entitled, {
        id,
        slug,
        kind,
        fields,
        secret_sealed: secret === null ? null : deps.providerVault.sealSecret(id, secret),
        created_by_id: authorIdOf(caller),
      });
      const entry = providerEntry('identity_provider_created', id, {
        before: null,
        after: { slug, kind, ...fields, has_secret: secret !== null },
      });
      return entitled.done(versionedProvider(await readProvider(tx, id), deps.settings), sameAccess, entry);
    },
    settle,
  );
}

function cleanSlug(text: string): string {
  if (!/^[a-z0-9-]{1,40}$/.test(text))
    throw refusal('slug', 'invalid_slug', 'must have 1 to 40 lower-case letters, digits and hyphens');
  requireNoId(text, 'slug');
  return text;
}

function slugTaken(): AppError {
  const message = 'is already taken by another identity provider';
  return new AppError('name_taken', {
    detail: `slug ${message}.`,
    errors: [{ field: 'slug', code: 'name_taken', message }],
  });
}

/** Throws `validation_failed` unless the provider has what it authenticates Castellan by. */
function requireSecret(
  { client_auth }: ProviderFields,
  { kind, has }: Pick<ProviderRow, 'kind'> & { has: boolean },
): void {
  if (has === (client_auth !== 'none')) return;
  const field = kind === 'apple' ? 'private_key' : 'client_secret';
  throw has
    ? refusal(field, 'not_allowed', 'must be null for client_auth none')
    : refusal(field, 'missing', `is needed for client_auth ${client_auth}`);
}

/** Throws `validation_failed` for a domain whose people another provider requires. */
async function requireUnclaimed(entitled: Entitled, id: string, fields: ProviderFields): Promise<void> {
  if (!fields.required_for_domains) return;
  const claimed = await findClaimedDomain(entitled.tx, id, fields.domains);
  if (!claimed) return;
  const field = `domains.${fields.domains.indexOf(claimed.domain)}`;
  throw refusal(
    field,
    'claimed',
    `is already required by the provider ${claimed.slug}; one provider can require a domain`,
  );
}

/**
 * Changes a provider. Writes nothing if every field already has its value. Another issuer disconnects its identities, and
 * ends the sessions that began by them. Throws 400, 404, 403, 412, 422.
 */
export const updateProvider = async (
  deps: ProviderDeps,
  caller: Caller,
  id: string,
  body: UpdateIdentityProviderBody,
  query: UpdateIdentityProviderQuery,
): Promise<Versioned<IdentityProvider>> =>
  versionedProvider(
    await change(deps, caller, updating(deps, caller, id, { body, query, isRehearsed: false })),
    deps.settings,
  );

/** Previews a change of a provider: how many people it would concern. */
export const previewProviderUpdate = (
  deps: ProviderDeps,
  caller: Caller,
  id: string,
  body: UpdateIdentityProviderBody,
  query: UpdateIdentityProviderQuery,
): Promise<ProviderPreviewEnvelope> =>
  previewEnds(deps, caller, id, {
    run: updating(deps, caller, id, { body, query, isRehearsed: true }),
    concerns: ({ issuer, is_active }) =>
      query.end_sessions === true ||
      (is_active && body.is_active === false) ||
      (body.issuer !== undefined && body.issuer !== issuer),
  });

/** `isRehearsed`: ends nothing, because a million ends that are rolled back would be as much work as those that count. */
type Updating = {
  body: UpdateIdentityProviderBody;
  query: UpdateIdentityProviderQuery;
  isRehearsed: boolean;
};

const updating =
  (
    deps: ProviderDeps,
    caller: Caller,
    id: string,
    { body, query, isRehearsed }: Updating,
  ): Run<ProviderRow> =>
  async (locking) => {
    const { slug, kind, client_secret, private_key, ...given } = body;
    const { entitled, provider } = await requireProvider(locking, id, 'update');
    if (!isSwitchingOff(provider, body)) await requireMayWrite(entitled);
    await requireVersion(caller.ifMatch, provider.version, () => toProvider(provider, deps.settings));
    requireSame(provider, { slug, kind });
    const before = fieldsOf(provider);
    const after = isSwitchingOff(provider, body)
      ? { ...before, is_active: false }
      : changedFields(before, given, { kind: provider.kind, publicUrl: deps.settings.publicUrl });
    const secret = changedSecret(provider, after, secretIn({ client_secret, private_key }, provider.kind));
    const isMoved = after.issuer !== before.issuer;
    const isUnchanged = secret === undefined && isDeepStrictEqual(after, before);
    const endsSessions = isMoved || query.end_sessions === true;
    if (isUnchanged && !endsSessions) return entitled.unchanged(provider);
    if (
      !isDeepStrictEqual(
        [after.required_for_domains, after.domains],
        [before.required_for_domains, before.domains],
      )
    )
      await requireUnclaimed(entitled, id, after);
    const ended =
      endsSessions && !isRehearsed ? await endSignIns(entitled, id, { disconnect: isMoved }) : undefined;
    if (!isRehearsed && !isDeepStrictEqual(judgedBy(after), judgedBy(before)))
      await deleteUnfinished(entitled, id);
    if (!isDeepStrictEqual([after.role_ids, after.role_mapping], [before.role_ids, before.role_mapping]))
      await requireRoles(entitled, after);
    if (isUnchanged && ended?.sessions === 0) return entitled.unchanged(provider);
    if (!isUnchanged)
      await updateRow(
        entitled,
        id,
        after,
        typeof secret === 'string' ? deps.providerVault.sealSecret(id, secret) : secret,
      );
    const entry = providerEntry('identity_provider_updated', id, {
      before,
      after,
      details: { ...(secret === undefined ? {} : { secret_changed: true }), ...ended },
    });
    return entitled.done(await readProvider(locking.tx, id), sameAccess, entry);
  };

/** What an answer of the provider is judged by when it comes. What else decides is read again when a person goes on. */
const judgedBy = ({ client_id, tenants, domains, acr_mapping, role_mapping }: ProviderFields) => [
  client_id,
  tenants,
  domains,
  acr_mapping,
  role_mapping,
];

/** Whether a body switches the provider off, or leaves it off, and changes nothing else: that needs no superuser. */
function isSwitchingOff(provider: ProviderRow, body: UpdateIdentityProviderBody): boolean {
  const { is_active, client_secret, private_key, slug: _slug, kind: _kind, ...rest } = body;
  if (is_active !== false || client_secret !== undefined || private_key !== undefined) return false;
  const now: Readonly<Record<string, unknown>> = { ...fieldsOf(provider) };
  return Object.entries(rest).every(
    ([name, value]) => value === undefined || !(name in now) || isDeepStrictEqual(value, now[name]),
  );
}

/** Throws `field_not_allowed` for another value of a field that is fixed. */
function requireSame(
  provider: Pick<ProviderRow, 'slug' | 'kind'>,
  given: { slug: string | undefined; kind: string | undefined },
): void {
  for (const field of ['slug', 'kind'] as const) {
    if (given[field] === undefined || given[field] === provider[field]) continue;
    const message = 'cannot be changed; create another identity provider';
    throw new AppError('field_not_allowed', {
      detail: `${field} ${message}.`,
      errors: [{ field, code: 'not_allowed', message }],
    });
  }
}

/** Returns the secret that a change sets; null if it removes the one there is, undefined if that stays. */
function changedSecret(
  provider: ProviderRow,
  after: ProviderFields,
  given: string | null | undefined,
): string | null | undefined {
  const has = provider.secret_sealed !== null;
  if (given === undefined && after.client_auth === 'none') return has ? null : undefined;
  requireSecret(after, { kind: provider.kind, has: given === undefined ? has : given !== null });
  // Otherwise, a change of the address alone would send the secret, which nobody can read, to somebody else.
  if (given === undefined && has && provider.kind === 'oidc' && after.issuer !== provider.issuer)
    throw refusal('client_secret', 'missing', 'must be sent anew with another issuer');
  return given === null && !has ? undefined : given;
}

/** Deletes a provider. Returns the deleted record. Throws 404, 403, 412, 409 while accounts are connected to it. */
export const deleteProvider = async (
  deps: ProviderDeps,
  caller: Caller,
  id: string,
  query: DeleteIdentityProviderQuery,
): Promise<IdentityProvider> =>
  toProvider(
    await change(deps, caller, deleting(deps, caller, id, { query, isRehearsed: false })),
    deps.settings,
  );

/** Previews the deletion of a provider: how many people it would concern. */
export const previewProviderDeletion = (
  deps: ProviderDeps,
  caller: Caller,
  id: string,
  query: DeleteIdentityProviderQuery,
): Promise<ProviderPreviewEnvelope> =>
  previewEnds(deps, caller, id, {
    run: deleting(deps, caller, id, { query, isRehearsed: true }),
    concerns: () => true,
  });

const deleting =
  (
    deps: ProviderDeps,
    caller: Caller,
    id: string,
    { query, isRehearsed }: { query: DeleteIdentityProviderQuery; isRehearsed: boolean },
  ): Run<ProviderRow> =>
  async (locking) => {
    const { entitled, provider } = await requireProvider(locking, id, 'deletion');
    await requireMayWrite(entitled);
    await requireVersion(caller.ifMatch, provider.version, () => toProvider(provider, deps.settings));
    if (query.force !== true && (await hasIdentities(locking.tx, id))) throw new AppError('provider_in_use');
    if (isRehearsed) return entitled.unchanged(provider);
    const ended = await endSignIns(entitled, id, { disconnect: true });
    await deleteProviderRow(entitled, id);
    const { slug, kind, secret_sealed } = provider;
    const entry = providerEntry('identity_provider_deleted', id, {
      before: { slug, kind, ...fieldsOf(provider), has_secret: secret_sealed !== null },
      after: null,
      details: ended,
    });
    return entitled.done(provider, sameAccess, entry);
  };
