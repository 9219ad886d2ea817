// What a change of the caller's own email address takes and causes, where they make it as an administrator: the proof of
// POST /users/me/email, and its mail to the former address, whose link undoes the change. It must not judge the change itself.
import { afterCommit } from '../../../platform/db/transaction.ts';
import type { Client } from '../../../platform/http/client.ts';
import { newId } from '../../../platform/ids.ts';
import { networkOf } from '../../../platform/security/client-address.ts';
import type { Tx } from '../../../schema/database.ts';
import type { PersonPrincipal } from '../../authz/caller.ts';
import { requireFreshCall } from '../../authz/requirements/call.ts';
import type { FreshnessDeps } from '../../factors/service.ts';
import type { Plan } from './change-plans.ts';
import { insertOwnAddressChange } from './change-store.ts';

export type OwnAddressDeps = FreshnessDeps & {
  accountMail: {
    enqueue(
      tx: Tx,
      kind: 'email_changed',
      payload: { email: string; at: string; network: string; user_agent: string | null; change: string },
    ): Promise<void>;
    wake(): void;
  };
};

type OwnChange = { principal: PersonPrincipal; client: Client; former: string; email: string };

/** Returns the change of the caller's own address; undefined if the plan has none. */
function ownChangeIn({ entitled, changes }: Plan): OwnChange | undefined {
  const { principal, client } = entitled.caller;
  if (principal.type !== 'user') return undefined;
  const own = changes.find(({ before }) => before.user_id === principal.id);
  const email = own?.fields.email;
  return own && email !== undefined ? { principal, client, former: own.before.email, email } : undefined;
}

/**
 * Throws `step_up_required` (403) if the plan changes the caller's own address without a fresh proof: mails to the address set a new
 * password and stand in for a lost factor.
 */
export async function requireFreshForAddress(tx: Tx, deps: FreshnessDeps, plan: Plan): Promise<void> {
  const own = ownChangeIn(plan);
  if (own) await requireFreshCall(tx, deps, own.principal);
}

/** Tells the former address. Call it after the plan was carried out: an administrator's change ends the mails that wait. */
export async function tellFormerAddress(tx: Tx, { accountMail }: OwnAddressDeps, plan: Plan): Promise<void> {
  const own = ownChangeIn(plan);
  if (!own?.principal.session) return;
  const { client, former, email } = own;
  const id = newId();
  const at = await insertOwnAddressChange(plan.entitled, {
    id,
    former_email: former,
    new_email: email,
    session_id: own.principal.session.id,
  });
  await accountMail.enqueue(tx, 'email_changed', {
    email,
    at: at.toISOString(),
    network: networkOf(client.address),
    user_agent: client.userAgent,
    change: id,
  });
  afterCommit(tx, () => accountMail.wake());
}
