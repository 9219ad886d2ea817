// The second factors of the signed-in person: reading and changing them.
import { queryOptions } from '@tanstack/react-query';
import { keepNotice } from '../../../common/second-factor-notice.ts';
import { queryClient, requestWith } from '../api.ts';
import { factorIsMet } from '../requirement.ts';
import {
  type AddedPasskey,
  type ChangedFactors,
  type Factors,
  type PasskeyKind,
  type Registration,
  renewLater,
  requestLater,
} from '../second-factor-types.ts';
import { acrossStepUps } from './step-up.ts';

/** Keeps for other pages whether something is still to be set up. */
function noteRequirement({ requirement = null }: Factors): void {
  const isOpen = requirement !== null && !requirement.met;
  keepNotice(isOpen ? { enforced_from: requirement.enforced_from } : null);
  if (!isOpen) factorIsMet();
}

export const ownFactors = queryOptions({
  queryKey: ['GET /api/v1/auth/factors'],
  queryFn: async ({ signal }) => {
    const { data } = await requestWith('GET /api/v1/auth/factors', (operation) =>
      requestLater(operation, { signal }),
    );
    noteRequirement(data);
    return data;
  },
});

/** Whether the person is asked for more than their password. */
export const hasFactor = ({ totp, passkeys = [] }: Factors): boolean => totp !== null || passkeys.length > 0;

/** Shows the factors as they are now, also before they are read again. */
function adopt<C extends ChangedFactors>(changed: C): C {
  noteRequirement(changed.factors);
  queryClient.setQueryData(ownFactors.queryKey, changed.factors);
  return changed;
}

/** Sends a change after a fresh proof and goes on with its tokens. */
const change = async <O extends string, C extends ChangedFactors>(
  operation: O,
  send: (operation: O) => Promise<{ data: C }>,
): Promise<C> => adopt((await acrossStepUps(operation, () => send(operation))).data);

export const confirmApp = (totp: string): Promise<ChangedFactors> =>
  change('POST /api/v1/auth/factors/totp/confirm', (operation) => renewLater(operation, { body: { totp } }));

export const removeApp = (): Promise<ChangedFactors> =>
  change('DELETE /api/v1/auth/factors/totp', (operation) => renewLater(operation));

export const passkeyOptions = async (kind: PasskeyKind) => {
  const { data } = await requestWith('POST /api/v1/auth/factors/passkeys/options', (operation) =>
    requestLater(operation, { body: { kind } }),
  );
  return data.passkey;
};

export const addPasskey = (body: Registration): Promise<AddedPasskey> =>
  change('POST /api/v1/auth/factors/passkeys', (operation) => renewLater(operation, { body }));

export const renamePasskey = (id: string, name: string) =>
  requestWith('PUT /api/v1/auth/factors/passkeys/{passkey_id}', (operation) =>
    requestLater(operation, { path: { passkey_id: id }, body: { name } }),
  );

export const removePasskey = (id: string): Promise<ChangedFactors> =>
  change('DELETE /api/v1/auth/factors/passkeys/{passkey_id}', (operation) =>
    renewLater(operation, { path: { passkey_id: id } }),
  );
