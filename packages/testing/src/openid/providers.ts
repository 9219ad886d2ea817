// Creates identity providers and identities directly in the database, in any state.
// It must not replace the operations that create them, which have tests of their own.
import { randomUUID } from 'node:crypto';
import type { TestService } from '../harness.ts';

type Fields = {
  name?: string;
  kind?: string;
  issuer?: string;
  client_id?: string;
  client_auth?: string;
  is_active?: boolean;
  is_shown?: boolean;
  position?: number;
  domains?: string[];
  required_for_domains?: boolean;
  logout?: 'here' | 'upstream';
};

export type AddedProvider = { id: string; slug: string; name: string; issuer: string };

let made = 0;

/** Inserts a provider without a secret; active, shown and of kind `oidc` unless `fields` says otherwise. */
export async function addProvider(
  service: Pick<TestService, 'sql'>,
  fields: Fields = {},
): Promise<AddedProvider> {
  made += 1;
  const provider = {
    id: randomUUID(),
    slug: `provider-${made}`,
    name: fields.name ?? `Provider ${made}`,
    issuer: fields.issuer ?? `https://issuer-${made}.example.com`,
  };
  await service.sql(
    `insert into identity_providers (id, slug, name, kind, issuer, client_id, client_auth, scopes, is_active, is_shown,
       position, sign_up, domains, required_for_domains, tenants, email_trust, connect, allow_superusers, mapping,
       sync_names, acr_mapping, logout, extra_parameters)
     values ($1, $2, $3, $4, $5, $6, $7, '{openid}', $8, $9, $10, 'none', $11, $12, '{}', 'none', 'confirm', false,
       'creation', false, '{}', $13, '{}')`,
    [
      provider.id,
      provider.slug,
      provider.name,
      fields.kind ?? 'oidc',
      provider.issuer,
      fields.client_id ?? 'castellan',
      fields.client_auth ?? 'none',
      fields.is_active ?? true,
      fields.is_shown ?? true,
      fields.position ?? made,
      fields.domains ?? [],
      fields.required_for_domains ?? false,
      fields.logout ?? 'here',
    ],
  );
  return provider;
}

export type AddedIdentity = { id: string; userId: string; subject: string };

/** Connects the account of a user to a subject of the provider, a new one by default. */
export async function addIdentity(
  service: Pick<TestService, 'sql'>,
  provider: Pick<AddedProvider, 'id' | 'issuer'>,
  userId: string,
  subject: string = randomUUID(),
): Promise<AddedIdentity> {
  const id = randomUUID();
  await service.sql(
    `insert into identities (id, user_id, provider_id, issuer, subject, email, display_name)
     values ($1, $2, $3, $4, $5, $6, 'Ada')`,
    [id, userId, provider.id, provider.issuer, subject, `${subject}@there.example`],
  );
  return { id, userId, subject };
}

/** Makes the newest session of the identity's user one that began with it. Returns the session's id. */
export async function beginWith(
  service: Pick<TestService, 'sql'>,
  { id, userId }: Pick<AddedIdentity, 'id' | 'userId'>,
  sid: string | null = null,
): Promise<string> {
  const [session] = await service.sql<{ id: string }>(
    `update sessions set identity_id = $2, provider_sid = $3, proof = 'provider'
     where id = (select id from sessions where user_id = $1 order by created_at desc, id desc limit 1) returning id`,
    [userId, id, sid],
  );
  if (!session) throw new Error('the user has no session');
  return session.id;
}
