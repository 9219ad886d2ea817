// One change of who has a role: a person or a service account gets or loses it.
import type { AccessChange, Holder } from '@castellan/sdk';
import { call } from '../../../data/api.ts';

export type Subject = Pick<Holder, 'type' | 'id' | 'name'>;
export type Wanted = { subject: Subject; isGiven: boolean };

export const changeOf = ({ subject: { type, id }, isGiven }: Wanted, roleId: string): AccessChange => ({
  ...(type === 'user' ? { user_id: id } : { service_account_id: id }),
  ...(isGiven ? { add_role_ids: [roleId] } : { remove_role_ids: [roleId] }),
});

export const save = (wanted: Wanted, roleId: string) =>
  call('POST /api/v1/access/changes', { body: { changes: [changeOf(wanted, roleId)] } });
