// Answers gateways that read the status alone: whether the caller of the forwarded request may pass, and who it is.
// It must not send a statement: the guard has read everything.
import type { SubjectHeaders } from '@castellan/contract/forward';
import { AppError } from '../../platform/errors.ts';
import { shownEmail } from '../../platform/security/email.ts';
import type { Caller, Principal } from '../authz/caller.ts';
import { decide, unproved } from '../authz/decision.ts';
import { proofRequired, provedBy } from '../authz/requirements/call.ts';

/** A refusal repeats only short names of letters, digits, dots and the like: what a client sends must not mislead who reads it. */
const PLAIN_NAME = /^[\w.-]{1,40}$/;

/**
 * Returns the headers that tell who the caller is. Throws `permission_denied` if the caller lacks the permission, or if
 * there is none of this name; `step_up_required` if it asks for more than the caller has proved.
 */
export function forward(
  { principal, graph, judgedAt: now }: Caller,
  permissionName: string | undefined,
): SubjectHeaders {
  if (permissionName === undefined) return headersOf(principal);
  // The guard finds no inactive caller.
  const proved = principal.type === 'user' ? provedBy(principal) : unproved.proved;
  const { decision, reason, permission, unmet } = decide(
    graph,
    { ...principal.subject, type: principal.type, is_active: true },
    permissionName,
    { proved, accountPolicy: null, now },
  );
  if (decision) return headersOf(principal);
  if (unmet) throw proofRequired(principal, unmet);
  if (reason !== 'unknown_permission')
    throw new AppError('permission_denied', {
      detail: `This requires the permission ${permission}.`,
      requiredPermission: permission,
    });
  if (!PLAIN_NAME.test(permission))
    throw new AppError('permission_denied', { detail: 'There is no permission of this name.' });
  throw new AppError('permission_denied', {
    detail: `There is no permission ${permission}.`,
    requiredPermission: permission,
  });
}

function headersOf(principal: Principal): SubjectHeaders {
  const { type, id } = principal;
  const identity = { 'X-Castellan-Subject-Type': type, 'X-Castellan-Subject-Id': id };
  if (principal.type === 'service_account')
    return { ...identity, 'X-Castellan-Subject-Name': encodeURIComponent(principal.name) };
  const { first_name, last_name } = principal.record;
  return {
    ...identity,
    'X-Castellan-Subject-Name': encodeURIComponent(`${first_name} ${last_name}`.trimEnd()),
    'X-Castellan-Subject-Email': encodeURIComponent(shownEmail(principal.email)),
  };
}
