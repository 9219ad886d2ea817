// What statements read of an account and an application, so that claims can be made of it.
// It must not contain a whole statement.
import type { ClaimMapping, Scope } from '@castellan/contract/application-claims';
import type { Row } from '../../../schema/database.ts';
import type { Subject } from '../../authz/effective.ts';

/** What claims are made of. `group_names`: of the role groups of its roles, with all their ancestors, in any order. */
export type ClaimedAccount = Pick<Subject, 'is_superuser' | 'role_ids'> & {
  email: string;
  first_name: string;
  last_name: string;
  verified: boolean;
  language: string | null;
  updated_at: Date;
  group_names: readonly string[];
  /** Those in the groups of the API resources of the application, if it may be told which of them the account holds. */
  claimable_permission_ids: readonly string[];
  /** The values of attributes that tokens may tell, by name, if the application may be told the profile. */
  attribute_claims: Readonly<Record<string, unknown>>;
};

/** An account as an application knows it. */
export type KnownAccount = ClaimedAccount &
  Pick<
    Row<'applications'>,
    'client_id' | 'subject_type' | 'sector' | 'id_token_claims' | 'required_permission_id'
  > & {
    user_id: string;
    must_change_password: boolean;
    has_password: boolean;
    /** What the application may ask for now. */
    allowed_scopes: Scope[];
    claim_mappings: ClaimMapping[];
    /** The salt of pairwise subjects; null for an application with public ones. */
    salt: Buffer | null;
    /** Stamp of the role → permission graph in the same snapshot. */
    authz_stamp: Row<'authz_version'>['stamp'];
  };

// The recursion ends in a cycle, too: a repeated row is not followed again.
const groupNames = `
  with recursive up as (
    select r.id, r.parent_id, r.name from role_groups r
    where r.id in (
      select l.role_group_id from role_group_roles l join held_user_roles h on h.role_id = l.role_id where h.user_id = u.id)
    union
    select p.id, p.parent_id, p.name from role_groups p join up on p.id = up.parent_id
  ) select name from up`;

const scopesOfResources = `
  select p.id from application_resources x join api_resource_groups rg on rg.api_resource_id = x.resource_id
  join permissions p on p.group_id = rg.permission_group_id where x.application_id = a.id`;

const attributeClaims = `
  select jsonb_object_agg(t.name, v.value) from user_attributes t
  join user_attribute_values v on v.attribute_id = t.id and v.user_id = u.id where t.claims`;

/** SQL condition: the application has a mapping from role groups. */
const hasGroupMapping = `jsonb_path_exists(a.claims::jsonb, '$[*] ? (@.from starts with "role_")')`;

/** Select list of a `KnownAccount`, from `users u`, `applications a`, and `g` with the `scopes` and `claims` of a grant. */
export const accountColumns = `
  a.client_id, a.subject_type, a.sector, a.id_token_claims, a.required_permission_id, a.scopes as allowed_scopes,
  a.claims as claim_mappings,
  case when a.subject_type = 'pairwise' then (select salt from pairwise_salt) end as salt,
  u.id as user_id, u.email, u.first_name, u.last_name, u.verified, u.language, u.updated_at, u.is_superuser, u.must_change_password,
  u.password_hash is not null as has_password,
  array(select h.role_id from held_user_roles h where h.user_id = u.id) as role_ids,
  case when ('groups' = any(a.scopes) and ('groups' = any(g.scopes) or g.claims is not null)) or ${hasGroupMapping}
    then array(${groupNames}) else '{}' end as group_names,
  case when 'permissions' = any(a.scopes) and ('permissions' = any(g.scopes) or g.claims is not null)
    then array(${scopesOfResources}) else '{}' end as claimable_permission_ids,
  case when 'profile' = any(a.scopes) and ('profile' = any(g.scopes) or g.claims is not null)
    then coalesce((${attributeClaims}), '{}') else '{}' end as attribute_claims,
  (select stamp from authz_version) as authz_stamp`;
