// The second factors of the signed-in person: reading and changing them.
import type { Factors, FactorsChange, NewPasskey, Passkey } from '@castellan/sdk';
import { queryOptions } from '@tanstack/react-query';
import { keepNotice } from '../../../common/second-factor-notice.ts';
import { call, queryClient, renew } from '../api.ts';
import { factorIsMet } from '../requirement.ts';

/** Keeps for other pages whether something is still to be set up. */
function noteRequirement({ requirement }: Factors): void {
  const isOpen = requirement !== null && !requirement.met;
  const from = isOpen ? requirement.enforced_from : null;
  keepNotice(from === null ? null : { enforced_from: from });
  if (!isOpen) factorIsMet();
}

export const ownFactors = queryOptions({
  queryKey: ['GET /api/v1/auth/factors'],
  queryFn: async ({ signal }) => {
    const { data } = await call('GET /api/v1/auth/factors', { signal });
    noteRequirement(data);
    return data;
  },
});

/** Whether the person is asked for more than their password. */
export const hasFactor = ({ totp, passkeys }: Factors): boolean => totp !== null || passkeys.length > 0;

/** Shows the factors as they are now, also before they are read again. */
function adopt<C extends FactorsChange>(changed: C): C {
  noteRequirement(changed.factors);
  queryClient.setQueryData(ownFactors.queryKey, changed.factors);
  return changed;
}

export const confirmApp = async (totp: string): Promise<FactorsChange> =>
  adopt(await renew('POST /api/v1/auth/factors/totp/confirm', { body: { totp } }));

export const removeApp = async (): Promise<FactorsChange> =>
  adopt(await renew('DELETE /api/v1/auth/factors/totp', {}));

export const passkeyOptions = async (kind: Passkey['kind']) =>
  (await call('POST /api/v1/auth/factors/passkeys/options', { body: { kind } })).data.passkey;

export const addPasskey = async (body: NewPasskey) =>
  adopt(await renew('POST /api/v1/auth/factors/passkeys', { body }));

export const renamePasskey = (id: string, name: string) =>
  call('PUT /api/v1/auth/factors/passkeys/{passkey_id}', { path: { passkey_id: id }, body: { name } });

export const removePasskey = async (id: string): Promise<FactorsChange> =>
  adopt(await renew('DELETE /api/v1/auth/factors/passkeys/{passkey_id}', { path: { passkey_id: id } }));
