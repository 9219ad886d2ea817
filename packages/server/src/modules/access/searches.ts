// Answers searches of the AuthZEN API: which subjects may do something, and which actions a subject may do.
// Every result is one that an evaluation permits.
import type {
  ActionSearchAnswer,
  ActionSearchBody,
  DecisionContext,
  SubjectSearchAnswer,
  SubjectSearchBody,
} from '@castellan/contract/authzen';
import { type SubjectType, subjectTypes } from '@castellan/contract/decisions';
import type { Db } from '../../schema/database.ts';
import type { Caller } from '../authz/caller.ts';
import { decide } from '../authz/decision.ts';
import { grantOf } from '../authz/effective.ts';
import { demandsBeyond } from '../authz/requirements/account.ts';
import { provedBy, unmetBy } from '../authz/requirements/call.ts';
import { everywhere } from '../authz/scope.ts';
import { asAskedBy, type SubjectSource } from '../authz/subjects.ts';
import { judgedIn, requireMayAsk, requireMayAskAboutOthers } from './asking.ts';
import type { PageStart, PageTokens } from './page-tokens.ts';
import { findHoldingAccounts, findHoldingRoles, findHoldingUsers } from './search-store.ts';

export type SearchDeps = { db: Db; subjectSource: SubjectSource; pageTokens: PageTokens };

const finders = { service_account: findHoldingAccounts, role: findHoldingRoles } as const;

const isSubjectType = (type: string): type is SubjectType => subjectTypes.some((one) => one === type);

/**
 * Returns a page of the active subjects of this type that may do the action, sorted by id. Throws `permission_denied`
 * without `access.check`, and `invalid_input` for a wrong page token.
 */
export async function searchSubjects(
  deps: SearchDeps,
  caller: Caller,
  { subject, action, resource, context, page }: SubjectSearchBody,
): Promise<SubjectSearchAnswer> {
  const { graph, principal } = caller;
  requireMayAskAboutOthers(caller, graph, 'access.check');
  const { type, properties } = subject;
  const search = ['subject', principal.id, { type, properties }, action, resource, context, page?.properties];
  const start = deps.pageTokens.start(search, page);
  const permissionId = graph.permissions.idOf(`${resource.type}.${action.name}`);
  const found =
    permissionId !== undefined && isSubjectType(type)
      ? await findHolders(deps, caller, { type, permissionId, context, start })
      : nobody;
  return { page: pageOf(deps, search, start, found), results: found.ids.map((id) => ({ type, id })) };
}

type Wanted = {
  type: SubjectType;
  permissionId: string;
  context: DecisionContext | undefined;
  start: PageStart;
};

async function findHolders(
  { db, subjectSource }: SearchDeps,
  caller: Caller,
  { type, permissionId, context, start: { after, limit } }: Wanted,
): Promise<Found> {
  const { principal, graph } = caller;
  const search = { permissionId, after, limit };
  if (type !== 'user') {
    const without = isBeyond(principal, permissionId) ? principal.id : null;
    return finders[type](db, { ...search, without });
  }
  const others = judgedIn(caller, undefined, context);
  const ownUnmet =
    principal.type === 'user' &&
    (isBeyond(principal, permissionId) ||
      unmetBy(graph, provedBy(principal), permissionId, others.now) !== null);
  if (unmetBy(graph, others.proved, permissionId, others.now) !== null)
    return ownUnmet ? nobody : onlySelf(subjectSource, caller, permissionId, after);
  const { proved, accountPolicy: policy, now } = others;
  return findHoldingUsers(db, {
    ...search,
    without: ownUnmet ? principal.id : null,
    self: principal.type === 'user' ? principal.id : null,
    demands: policy && demandsBeyond({ graph, policy, now }, proved.acr ?? 'aal1'),
  });
}

/** Returns the caller alone, if they hold the permission: their token has proved what nobody else is known to have proved. */
async function onlySelf(
  source: SubjectSource,
  { principal, graph }: Caller,
  permissionId: string,
  after: string | null,
): Promise<Found> {
  const { type, id } = principal;
  if (type !== 'user') return nobody;
  const { subjects } = await source.load([{ type, id }]);
  const isFound = subjects.some(
    (one) => one?.is_active && grantOf(graph, everywhere(one), permissionId) !== null,
  );
  if (!isFound) return nobody;
  return { ids: after === null || id > after ? [id] : [], next: null, total: 1 };
}

const nobody: Found = { ids: [], next: null, total: 0 };

/** Returns whether the caller's key or token is narrowed to other permissions: an evaluation about itself is a deny. */
const isBeyond = ({ subject: { narrowed_to } }: Caller['principal'], permissionId: string): boolean =>
  narrowed_to ? !narrowed_to.includes(permissionId) : false;

/**
 * Returns a page of the actions that the subject may do on resources of this type, sorted by name. Throws as
 * `searchSubjects` does; everybody may ask about themselves.
 */
export async function searchActions(
  deps: SearchDeps,
  caller: Caller,
  { subject: reference, resource, context, page }: ActionSearchBody,
): Promise<ActionSearchAnswer> {
  const loaded = await deps.subjectSource.load([reference]);
  requireMayAsk(caller, loaded, 'access.check');
  const search = ['action', caller.principal.id, reference, resource, context, page?.properties];
  const start = deps.pageTokens.start(search, page);
  const [known] = loaded.subjects;
  const subject = known && asAskedBy(caller.principal, known);
  const judged = judgedIn(caller, known, context);
  const actions = subject?.is_active ? loaded.graph.permissions.actionsOn(resource.type) : [];
  const names = actions
    .filter((name) => decide(loaded.graph, subject, `${resource.type}.${name}`, judged).decision)
    .sort();
  const rest = names.filter((name) => start.after === null || name > start.after);
  const ids = rest.slice(0, start.limit);
  const next = rest.length > ids.length ? (ids.at(-1) ?? start.after ?? '') : null;
  const found = { ids, next, total: names.length };
  return { page: pageOf(deps, search, start, found), results: ids.map((name) => ({ name })) };
}

type Found = { ids: readonly string[]; next: string | null; total: number | null };

/** Returns what the answer says about its page. */
function pageOf(
  { pageTokens }: SearchDeps,
  search: unknown,
  { limit, after, total: known }: PageStart,
  { ids, next, total: counted }: Found,
): SubjectSearchAnswer['page'] {
  const total = after === null ? counted : known;
  return {
    next_token: next === null ? '' : pageTokens.tokenOf(search, { limit, after: next, total }),
    count: ids.length,
    ...(total === null ? {} : { total }),
  };
}
