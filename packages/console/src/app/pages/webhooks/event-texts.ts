// What a type of event means, in the words of the audit log where it has some.
import type { EventDescription } from '@castellan/sdk';
import { knownActions, meaningOf as meaningOfAction } from '../../data/audit/actions.ts';
import { later } from '../../text.ts';

export function meaningOf({ type, description }: Pick<EventDescription, 'type' | 'description'>): string {
  const action = knownActions().find((one) => one === type);
  if (action) return meaningOfAction(action);
  return type === 'audit_log_sealed' ? later.webhooks.sealed : description;
}
