// Lists users with filters, orders and pages.
import type {
  InvitationState,
  ListedUser,
  UserActivity,
  UserExtra,
  UserListQuery,
} from '@castellan/contract/users';
import { pagesOf } from '../../../platform/pages.ts';
import { canonicalEmail } from '../../../platform/security/email.ts';
import type { Caller } from '../../authz/caller.ts';
import type { Graph } from '../../authz/graph/graph.ts';
import { demandsOf, type PolicySettings, policyOf } from '../../authz/requirements/account.ts';
import { requireMayUse } from '../../authz/requirements/call.ts';
import { findValues } from '../../user-attributes/service.ts';
import { toUser, type VersionedUser } from '../presentation.ts';
import { searchText } from '../search.ts';
import type { UserDeps } from '../service.ts';
import { readConditions } from './attribute-conditions.ts';
import type { UserFilter } from './filters.ts';
import { findActivity, findInvitations } from './list-store.ts';
import { findUserPage } from './pages.ts';
import { findSecondFactors, noSecondFactor } from './second-factor.ts';

type ListDeps = UserDeps & { settings: PolicySettings & { unverifiedAccountHours: number } };

type UserPage = {
  items: ListedUser[];
  total: number;
  total_is_estimate?: true;
  page: number;
  size: number;
  pages: number;
};

/**
 * Returns one page of users, sorted by creation time by default, and with their activity on request. A page beyond the
 * end is empty and has the same total. Throws 422, and 403 for
 * attributes without `users.read`.
 */
export async function listUsers(deps: ListDeps, query: UserListQuery, caller: Caller): Promise<UserPage> {
  const { page, size, sort = 'created_at', include } = query;
  const attributes = await readConditions(deps, caller, query);
  const filter = { ...filterOf(deps, query, caller.graph), ...(attributes && { attributes }) };
  if ([include].flat().includes('attributes')) requireMayUse(caller, 'users.read');
  const { total, isEstimate, users } = await findUserPage(deps.db, filter, sort, { page, size });
  const graph = users[0] && (await deps.graphSource.at(users[0].authz_stamp));
  const extrasOf = await findExtras(deps, { users, graph }, [include ?? []].flat());
  return {
    items: graph ? users.map((user) => ({ ...toUser(user, graph), ...extrasOf(user) })) : [],
    total,
    ...(isEstimate ? { total_is_estimate: true } : {}),
    page,
    size,
    pages: pagesOf(total, size),
  };
}

/** Reads what the query asks for besides the records. Returns what it adds to a user. */
async function findExtras(
  deps: ListDeps,
  { users, graph }: { users: readonly VersionedUser[]; graph: Graph | undefined },
  included: readonly UserExtra[],
): Promise<(user: VersionedUser) => Pick<ListedUser, UserExtra>> {
  const activities = included.includes('activity') ? await findActivities(deps, users) : null;
  const factors =
    graph && included.includes('second_factor')
      ? await findSecondFactors(deps.db, users, { graph, policy: policyOf(deps.settings) })
      : null;
  const invitations = included.includes('invitation') ? await findInvitationsOf(deps, users) : null;
  const values = included.includes('attributes') ? await findValues(deps.db, idsOf(users)) : null;
  return ({ user_id }) => ({
    ...(values && { attributes: values.get(user_id) ?? {} }),
    ...(invitations && { invitation: invitations.get(user_id) ?? null }),
    ...(activities && { activity: activities.get(user_id) ?? noActivity }),
    ...(factors && { second_factor: factors.get(user_id) ?? noSecondFactor }),
  });
}

const idsOf = (users: readonly { user_id: string }[]): string[] => users.map(({ user_id }) => user_id);

async function findActivities(
  { db }: UserDeps,
  users: readonly { user_id: string }[],
): Promise<ReadonlyMap<string, UserActivity>> {
  const rows = await findActivity(db, idsOf(users));
  return new Map(
    rows.map(({ user_id, status, live_sessions, last_active_at }) => [
      user_id,
      { status, live_sessions, last_active_at: last_active_at?.toISOString() ?? null },
    ]),
  );
}

async function findInvitationsOf(
  { db }: UserDeps,
  users: readonly VersionedUser[],
): Promise<ReadonlyMap<string, InvitationState>> {
  const invited = users.filter(({ invited_at }) => invited_at !== null);
  if (invited.length === 0) return new Map();
  const rows = await findInvitations(db, idsOf(invited));
  return new Map(
    rows.map(({ user_id, invitation_sent_at, invitation_expires_at }) => [
      user_id,
      {
        sent_at: invitation_sent_at?.toISOString() ?? null,
        expires_at: invitation_expires_at?.toISOString() ?? null,
      },
    ]),
  );
}

// For a user who was deleted between the two statements.
const noActivity: UserActivity = { status: 'inactive', live_sessions: 0, last_active_at: null };

// An empty search matches every user. An empty email matches none: a caller that looks up one user must not get others.
function filterOf({ settings }: ListDeps, query: UserListQuery, graph: Graph): UserFilter {
  const {
    email,
    external_id,
    search = '',
    role_id,
    after,
    is_active,
    verified,
    status,
    roles,
    removal_within_hours,
    second_factor,
    invited,
    invitation,
  } = query;
  const part = searchText(search);
  return {
    ...(email === undefined ? {} : { email: canonicalEmail(email) }),
    ...(external_id === undefined ? {} : { externalId: external_id.trim().normalize('NFC') }),
    ...(part === '' ? {} : { search: part }),
    ...(status === undefined ? {} : { status }),
    ...(roles === undefined ? {} : { withoutRoles: true }),
    ...(removal_within_hours === undefined
      ? {}
      : { removedAfterHours: settings.unverifiedAccountHours - removal_within_hours }),
    ...(role_id === undefined ? {} : { roleId: role_id.toLowerCase() }),
    ...(after === undefined ? {} : { afterId: after.toLowerCase() }),
    ...(is_active === undefined ? {} : { isActive: is_active }),
    ...(verified === undefined ? {} : { verified }),
    ...(second_factor === undefined
      ? {}
      : {
          secondFactor:
            second_factor === 'missing'
              ? { missing: demandsOf({ graph, policy: policyOf(settings) }) }
              : { state: second_factor },
        }),
    ...(invited === undefined ? {} : { isInvited: invited }),
    ...(invitation === undefined ? {} : { invitation }),
  };
}
