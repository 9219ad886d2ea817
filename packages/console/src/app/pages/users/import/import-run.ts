// What an import reads and writes: the existing users and roles, a preview, and one request for each row.
import type { AccessPreview, ListedUser, Role } from '@castellan/sdk';
import type { PreviewQuery } from '../../../components/dialogs/impact.tsx';
import { call, callPreview, queryClient } from '../../../data/api.ts';
import { allUserAttributes } from '../../../data/attributes/attributes.ts';
import { allRoleNames } from '../../../data/catalogue.ts';
import type { NewUserField } from '../../../data/form-fields.ts';
import { chunksOf, joinPreviews } from '../bulk/bulk.ts';
import { previewRoles, removeRoles, type useAddRoles, type useListPath } from '../data.ts';
import { makePassword } from '../dialogs/password.ts';
import { emailKey, type ImportRow, impactOfCreation, judgeRows, type Verdict } from './import.ts';

/** So many users, or roles, are looked up at the same time. */
const LOOKUPS = 6;

type Lookup = {
  path: ReturnType<typeof useListPath>;
  mayReadRoles: boolean;
  mayReadAttributes: boolean;
  signal: AbortSignal;
  onProgress: (done: number, all: number) => void;
};

export type Judged = { verdicts: Verdict[]; roles: ReadonlyMap<string, Role> };

/** Returns what would happen to each row, and the roles of the users that would be created, by id. */
export async function judge(rows: readonly ImportRow[], lookup: Lookup): Promise<Judged> {
  const { path, mayReadRoles, mayReadAttributes, signal, onProgress } = lookup;
  const users = new Map<string, ListedUser>();
  const emails = [...new Set(rows.map(({ email }) => email).filter((one) => one !== ''))];
  for (let at = 0; at < emails.length; at += LOOKUPS) {
    onProgress(at, emails.length);
    const found = await Promise.all(
      emails
        .slice(at, at + LOOKUPS)
        .map((email) => call(`GET ${path}`, { query: { email, size: 1 }, signal })),
    );
    for (const user of found.flatMap(({ data }) => data.items)) users.set(emailKey(user.email), user);
  }
  const ids = new Map<string, string>();
  if (mayReadRoles)
    for (const { id, name } of await queryClient.fetchQuery({ ...allRoleNames, staleTime: 0 }))
      ids.set(name.toLowerCase(), id);
  const attributes = mayReadAttributes
    ? await queryClient.fetchQuery({ ...allUserAttributes, staleTime: 0 })
    : [];
  const verdicts = judgeRows(rows, users, ids, attributes);
  const given = verdicts.flatMap((verdict) => (verdict.kind === 'create' ? verdict.roleIds : []));
  return { verdicts, roles: await rolesOf([...new Set(given)], signal) };
}

/** Returns the roles with their permissions, by id. */
async function rolesOf(ids: readonly string[], signal: AbortSignal): Promise<Judged['roles']> {
  const roles = new Map<string, Role>();
  for (const chunk of chunksOf(ids, LOOKUPS))
    for (const { data } of await Promise.all(
      chunk.map((id) => call('GET /api/v1/roles/{role_id}', { path: { role_id: id }, signal })),
    ))
      roles.set(data.id, data);
  return roles;
}

export type Assignment = Extract<Verdict, { kind: 'assign' }>;

/** Takes the roles of the rows from their users again: with `access.change` from all or from none of them. */
export async function takeBack(assigned: readonly Assignment[], mayChangeAccess: boolean): Promise<void> {
  if (!mayChangeAccess) for (const { user, roleIds } of assigned) await removeRoles(user.id, roleIds);
  else
    for (const chunk of chunksOf(assigned)) {
      const changes = chunk.map(({ user, roleIds }) => ({ user_id: user.id, remove_role_ids: [...roleIds] }));
      await call('POST /api/v1/access/changes', { body: { changes } });
    }
}

type Asking = { mayChangeAccess: boolean; signal: AbortSignal; query: PreviewQuery };

/** Returns what the import would change. Only roles of existing users are asked of the service. */
export async function previewImport(
  { verdicts, roles }: Judged,
  { mayChangeAccess, signal, query }: Asking,
): Promise<AccessPreview> {
  const created: AccessPreview = {
    dry_run: true,
    would_be_refused: null,
    impact: impactOfCreation(verdicts, roles),
  };
  const previews = [created];
  const assigned = verdicts.filter((verdict) => verdict.kind === 'assign');
  if (mayChangeAccess)
    for (const chunk of chunksOf(assigned)) {
      const changes = chunk.map(({ user, roleIds }) => ({ user_id: user.id, add_role_ids: [...roleIds] }));
      const { data } = await callPreview('POST /api/v1/access/changes', { query, body: { changes }, signal });
      previews.push(data);
    }
  else
    for (const { user, roleIds } of assigned) {
      const all = [...user.roles.map(({ id }) => id), ...roleIds];
      previews.push((await previewRoles(user.id, all, { signal, query })).data);
    }
  return joinPreviews(previews);
}

/** A new user gets a password that nobody knows; they choose their own with "Forgot password". */
export async function carryOut(verdict: Verdict, addRoles: ReturnType<typeof useAddRoles>): Promise<void> {
  if (verdict.kind === 'assign') await addRoles(verdict.user, verdict.roleIds);
  if (verdict.kind !== 'create') return;
  const { email, first_name, last_name, external_id } = verdict.row;
  await call('POST /api/v1/users', {
    body: {
      email,
      first_name,
      last_name,
      password: makePassword(),
      must_change_password: true,
      role_id: verdict.roleIds,
      external_id: external_id || null,
      attributes: verdict.attributes,
    } satisfies Record<NewUserField | 'role_id', unknown>,
  });
}
