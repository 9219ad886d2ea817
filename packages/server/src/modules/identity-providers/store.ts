// SQL of identity providers. What ends with one is in ends-store.ts, what connects accounts to them in modules/identities.
import type { PageQuery } from '@castellan/contract/common';
import type { RoleMapping } from '@castellan/contract/identity-providers';
import { type RawBuilder, sql } from 'kysely';
import { lockUntilCommit } from '../../platform/db/sql.ts';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import { offsetOf } from '../../platform/pages.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';
import type { Entitled } from '../authz/change.ts';
import type { ProviderFields } from './fields.ts';

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
 * Keeps an active provider as it is until the transaction ends; false if it is not active, or gone. `version`: of the record that
 * the caller decides by; false if it has changed since. A transaction that begins a session or connects an identity calls it directly
 * after it has locked the user, so that a change that ends what began at the provider waits for it, and then sees what it wrote.
 */
export async function keepActiveProvider(tx: Tx, id: string, version?: number): Promise<boolean> {
  const { rows } = await sql<{ version: number }>`
    select version from identity_providers where id = ${id} and is_active for share`.execute(tx);
  const [kept] = rows;
  return kept !== undefined && (version ?? kept.version) === kept.version;
}

export async function countProviders(db: Db): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*)::integer as total from identity_providers`.execute(db);
  return rows[0]?.total ?? 0;
}

/** Returns one page of providers, in the order of their buttons. */
export async function listProviders(db: Db, page: PageQuery): Promise<ProviderRow[]> {
  const { rows } = await sql<ProviderRow>`${plannedForValues}
    select ${columns} from identity_providers p
    order by p.position, p.slug limit ${page.size} offset ${offsetOf(page)}`.execute(db);
  return rows;
}

/**
 * Locks the provider until the transaction ends: waits for sign-ins that are about to commit, and holds up those to come.
 * `for`: before it is deleted, also connections to it. Returns whether it exists.
 */
export async function lockProvider(tx: Tx, id: string, purpose: 'update' | 'deletion'): Promise<boolean> {
  const strength: RawBuilder<unknown> = purpose === 'deletion' ? sql`for update` : sql`for no key update`;
  const { rows } = await sql`select from identity_providers where id = ${id} ${strength}`.execute(tx);
  return rows.length > 0;
}

/** Returns a provider that the transaction has locked or created. */
export async function readProvider(tx: Tx, id: string): Promise<ProviderRow> {
  const provider = await findProviderById(tx, id);
  if (!provider) throw new Error('an identity provider that this transaction has locked is missing');
  return provider;
}

export async function hasSlug(tx: Tx, slug: string): Promise<boolean> {
  const { rows } = await sql`select from identity_providers where slug = ${slug}`.execute(tx);
  return rows.length > 0;
}

/** Returns the position after all others; at most 10,000, the greatest that a body may name. */
export async function lastPosition(tx: Tx): Promise<number> {
  const { rows } = await sql<{ position: number }>`
    select least(coalesce(max(position) + 1, 0), 10000)::integer as position from identity_providers`.execute(
    tx,
  );
  return rows[0]?.position ?? 0;
}

/** Returns a domain among these that another provider requires for its people, with the slug of that provider. */
export async function findClaimedDomain(
  tx: Tx,
  id: string,
  domains: readonly string[],
): Promise<{ domain: string; slug: string } | undefined> {
  // Two transactions could otherwise claim a domain at the same time.
  await lockUntilCommit('provider_domains').execute(tx);
  const { rows } = await sql<{ domain: string | null; slug: string }>`
    select claimed.domain, p.slug from identity_providers p cross join lateral unnest(p.domains) claimed (domain)
    where p.required_for_domains and p.id <> ${id} and claimed.domain = any(${domains}::text[])
    order by claimed.domain limit 1`.execute(tx);
  const [found] = rows;
  return found?.domain == null ? undefined : { domain: found.domain, slug: found.slug };
}

/** Returns whether each of the roles that exist is a system role, by id. */
export async function findSystemRoles(tx: Tx, ids: readonly string[]): Promise<Map<string, boolean>> {
  const { rows } = await sql<Pick<Row<'roles'>, 'id' | 'is_system'>>`
    select id, is_system from roles where id = any(${ids}::uuid[])`.execute(tx);
  return new Map(rows.map(({ id, is_system }) => [id, is_system]));
}

const written = ({
  role_ids: _ids,
  role_mapping: _mapping,
  acr_mapping,
  extra_parameters,
  ...fields
}: ProviderFields) => ({
  ...fields,
  acr_mapping: JSON.stringify(acr_mapping),
  extra_parameters: JSON.stringify(extra_parameters),
});

async function writeRoles(tx: Tx, id: string, { role_ids, role_mapping }: ProviderFields): Promise<void> {
  await sql`delete from identity_provider_roles where provider_id = ${id}`.execute(tx);
  await sql`
    insert into identity_provider_roles (provider_id, role_id)
    select ${id}, r from unnest(${role_ids}::uuid[]) r`.execute(tx);
  await sql`delete from identity_role_mappings where provider_id = ${id}`.execute(tx);
  await sql`
    insert into identity_role_mappings (provider_id, position, claim, equals, role_id)
    select ${id}, m.position::integer, m.claim, m.equals, m.role_id
    from unnest(${role_mapping.map(({ claim }) => claim)}::text[], ${role_mapping.map(({ equals }) => equals)}::text[],
      ${role_mapping.map(({ role_id }) => role_id)}::uuid[]) with ordinality as m (claim, equals, role_id, position)`.execute(
    tx,
  );
}

export async function insertProvider(
  { tx }: Entitled,
  {
    fields,
    ...own
  }: { fields: ProviderFields } & Pick<
    Row<'identity_providers'>,
    'id' | 'slug' | 'kind' | 'secret_sealed' | 'created_by_id'
  >,
): Promise<void> {
  await tx
    .insertInto('identity_providers')
    .values({ ...own, ...written(fields) })
    .execute();
  await writeRoles(tx, own.id, fields);
}

/** Updates a provider whose row is locked. `secret`: undefined keeps it, null removes it. */
export async function updateProvider(
  { tx }: Entitled,
  id: string,
  fields: ProviderFields,
  secret: Buffer | null | undefined,
): Promise<void> {
  await tx
    .updateTable('identity_providers')
    .set(({ fn }) => ({
      ...written(fields),
      ...(secret === undefined ? {} : { secret_sealed: secret }),
      updated_at: fn<Date>('now'),
    }))
    .where('id', '=', id)
    .execute();
  await writeRoles(tx, id, fields);
}

/** Deletes a provider without identities. */
export async function deleteProviderRow({ tx }: Entitled, id: string): Promise<void> {
  await sql`delete from identity_providers where id = ${id}`.execute(tx);
}
