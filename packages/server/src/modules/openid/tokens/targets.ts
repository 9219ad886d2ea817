// What an access token for an API resource may carry: what the application may, the person agreed to, and the account holds now.
// It has no side effects.
import { type Acr, acrValues } from '@castellan/contract/authentication';
import { grantOf } from '../../authz/effective.ts';
import type { Graph } from '../../authz/graph/graph.ts';
import { unmetBy } from '../../authz/requirements/call.ts';
import { everywhere } from '../../authz/scope.ts';
import type { GrantedAccess } from './grant-columns.ts';
import type { SigningAlgorithm } from './signed-jwt.ts';

/** An API resource that the grant has tokens for. `names`: of the permissions that they may carry now, sorted. */
export type Target = { alg: SigningAlgorithm; seconds: number; names: string[] };

/** Characters of a scope (RFC 6749, 3.3). A permission with others cannot be one. */
const SCOPE = /^[!#-[\]-~]+$/;

/**
 * Returns the API resource that the statement looked for; undefined if the application may not have tokens for it, or the person did
 * not agree to it. `graph`: at the stamp of the row, or newer. `now`: in milliseconds since 1970.
 */
export function targetIn(grant: GrantedAccess, graph: Graph, now: number): Target | undefined {
  const { target_id, target_alg: alg, target_seconds: seconds, target_permission_ids: ids } = grant;
  const agreed = grant.resources.find(({ resource_id }) => resource_id === target_id);
  if (!agreed || alg === null || seconds === null || ids === null) return undefined;
  const proved = { acr: levelOf(grant.acr), authTime: grant.auth_time };
  const held = ids.filter(
    (id) =>
      agreed.permission_ids.includes(id) &&
      grantOf(graph, everywhere(grant), id) !== null &&
      unmetBy(graph, proved, id, now) === null,
  );
  return { alg, seconds, names: graph.permissions.namesOf(held).filter((name) => SCOPE.test(name)) };
}

/** Of a level that is not known, the lowest. */
export const levelOf = (text: string): Acr => acrValues.find((acr) => acr === text) ?? 'aal1';
