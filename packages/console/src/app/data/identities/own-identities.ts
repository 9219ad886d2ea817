// The accounts elsewhere that the signed-in person signs in with, and whether they have a password.
import { call, reading } from '../api.ts';

export const ownIdentities = reading('GET /api/v1/users/me/identities', {});

/** Returns where to sign in to connect this provider. */
export const startConnecting = async (provider: string): Promise<string> =>
  (await call('POST /api/v1/users/me/identities', { body: { provider } })).data.redirect_to;

export const disconnect = (id: string) =>
  call('DELETE /api/v1/users/me/identities/{identity_id}', { path: { identity_id: id } });
