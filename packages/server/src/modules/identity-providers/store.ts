// SQL that reads identity providers. What connects accounts to them is in modules/identities.
import type { RoleMapping } from '@castellan/contract/identity-providers';
import { sql } from 'kysely';
import type { Db, Row, Tx } from '../../schema/database.ts';

export type ProviderRow = Omit<Row<'identity_providers'>, 'acr_mapping' | 'extra_parameters'> & {
  acr_mapping: Record<string, 'aal2'>;
  extra_parameters: Record<string, string>;
  /** Sorted. */
  role_ids: string[];
  /** In the order in which it was written. */
  role_mapping: RoleMapping[];
};

const columns = sql`
  p.id, p.slug, p.name, p.kind, p.issuer, p.client_id, p.client_auth, p.secret_sealed, p.team_id, p.key_id, p.scopes,
  p.is_active, p.is_shown, p.position, p.sign_up, p.domains, p.required_for_domains, p.tenants, p.email_trust, p.connect,
  p.allow_superusers, p.mapping, p.sync_names, p.acr_mapping, p.logout, p.extra_parameters, p.created_at, p.updated_at,
  p.created_by_id, p.version,
  array(select r.role_id from identity_provider_roles r where r.provider_id = p.id order by r.role_id) as role_ids,
  coalesce((
    select json_agg(json_build_object('claim', m.claim, 'equals', m.equals, 'role_id', m.role_id) order by m.position)
    from identity_role_mappings m where m.provider_id = p.id), '[]') as role_mapping`;

export async function findProviderById(db: Db, id: string): Promise<ProviderRow | undefined> {
  const { rows } =
    await sql<ProviderRow>`select ${columns} from identity_providers p where p.id = ${id}`.execute(db);
  return rows[0];
}

/** Returns the provider that people may sign in by; undefined if there is none with this slug, or it is not active. */
export async function findActiveProvider(db: Db, slug: string): Promise<ProviderRow | undefined> {
  const { rows } = await sql<ProviderRow>`
    select ${columns} from identity_providers p where p.slug = ${slug} and p.is_active`.execute(db);
  return rows[0];
}

/** Returns what the sign-in page shows of the active providers that have a button, in the order of the buttons. */
export async function listShownProviders(
  db: Db,
): Promise<Pick<Row<'identity_providers'>, 'slug' | 'name' | 'kind'>[]> {
  const { rows } = await sql<Pick<Row<'identity_providers'>, 'slug' | 'name' | 'kind'>>`
    select slug, name, kind from identity_providers where is_active and is_shown order by position, slug`.execute(
    db,
  );
  return rows;
}

/**
 * Keeps an active provider as it is until the transaction ends; false if it is not active, or gone. A transaction that begins a
 * session or connects an identity calls it directly after it has locked the user, so that a change that ends what began
 * at the provider waits for it, and then sees what it wrote.
 */
export async function keepActiveProvider(tx: Tx, id: string): Promise<boolean> {
  const { rows } = await sql`
    select from identity_providers where id = ${id} and is_active for share`.execute(tx);
  return rows.length > 0;
}
