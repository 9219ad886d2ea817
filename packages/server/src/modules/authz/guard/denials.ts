// Records that a caller lacked a permission, or a proof that is strong or recent enough.
import { type Audited, recordBounded } from '../../audit/service.ts';
import { actorOf, type Caller } from '../caller.ts';

/** Limited as in `recordBounded`. */
export const recordStepUpRequired = (
  deps: Pick<Audited, 'auditLog'>,
  { client, principal }: Caller,
  details: Record<string, unknown>,
): Promise<void> =>
  recordBounded(deps, client, {
    action: 'step_up_required',
    ...actorOf(principal),
    resourceId: principal.id,
    details: { ...(principal.type === 'user' ? { email: principal.email } : {}), ...details },
  });

/** Records a refusal in the audit log. Limited as in `recordBounded`. */
export const recordDenied = (
  deps: Pick<Audited, 'auditLog'>,
  { client, principal }: Caller,
  details: Record<string, unknown>,
): Promise<void> =>
  recordBounded(deps, client, {
    action: 'permission_denied',
    ...actorOf(principal),
    resourceId: principal.id,
    details: { ...(principal.type === 'user' ? { email: principal.email } : {}), ...details },
  });
