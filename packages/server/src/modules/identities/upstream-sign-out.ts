// Where a browser goes to sign out at the provider of the session that ended here.
// A sign-out here never fails because of it: what cannot be told to the provider is left out.
import { sql } from 'kysely';
import type { Db } from '../../schema/database.ts';
import { findProviderById, type ProviderRow } from '../identity-providers/store.ts';
import { type SendingDeps, upstreamLogoutUrl } from '../identity-providers/upstream/sending.ts';
import type { SignOutUpstream } from '../sessions/service.ts';

export type UpstreamSignOutDeps = SendingDeps & {
  db: Db;
  providerSignIns: { openIdToken(identityId: string, sealed: Buffer): string | null };
  settings: { publicUrl: string };
};

/** Where the provider sends the browser back to. It is registered there, so it has no parameters. */
const signedOutUri = (publicUrl: string, slug: string): string =>
  `${publicUrl}/api/v1/auth/providers/${slug}/signed-out`;

/** What comes back where nothing is kept. */
const NOTHING_KEPT = 'signed-out';

export const createUpstreamSignOut =
  (deps: UpstreamSignOutDeps): SignOutUpstream =>
  async ({ identity_id: identityId, provider_id_token_sealed: sealed }, keepNext) => {
    const provider = identityId === null ? undefined : await findUpstream(deps.db, identityId);
    if (identityId === null || !provider) return null;
    return upstreamLogoutUrl(deps, provider, {
      idToken: sealed && deps.providerSignIns.openIdToken(identityId, sealed),
      postLogoutRedirectUri: signedOutUri(deps.settings.publicUrl, provider.slug),
      state: (await keepNext?.()) ?? NOTHING_KEPT,
    });
  };

/** Returns the provider of an identity, if people who sign out are sent to it. */
async function findUpstream(db: Db, identityId: string): Promise<ProviderRow | undefined> {
  const { rows } = await sql<{ id: string }>`
    select p.id from identities i join identity_providers p on p.id = i.provider_id
    where i.id = ${identityId} and p.is_active and p.logout = 'upstream'`.execute(db);
  return rows[0] && findProviderById(db, rows[0].id);
}
