// The operations of signing in with a provider. The browser is known by a cookie of the service, so that nothing is kept here.
import type { PendingIdentity, PublicIdentityProvider } from '@castellan/sdk';
import { client } from '../client.ts';

export type { PendingIdentity };
export type Provider = Pick<PublicIdentityProvider, 'slug' | 'name'>;

const PENDING = '/api/v1/auth/pending-identity';

export const readProviders = async (): Promise<readonly Provider[]> =>
  (await client.get('/api/v1/auth/providers')).data;

/** What the sign-in is for: the path to go on to, or the request of an application. */
export type Purpose = { next?: string; interaction_id?: string };

/** Returns the address of the provider. Rejects with `provider_unavailable` (503) while it does not answer. */
export const startProvider = async (slug: string, body: Purpose): Promise<string> =>
  (await client.post('/api/v1/auth/providers/{slug}/start', { path: { slug }, body })).data.redirect_to;

/** Rejects with `pending_identity_not_found` (404). */
export const readPending = async (): Promise<PendingIdentity> => (await client.get(PENDING)).data;

export const withdrawPending = async (): Promise<void> => {
  await client.delete(PENDING);
};

export const mailCode = async (email: string): Promise<void> => {
  await client.post(`${PENDING}/email`, { body: { email } });
};

/** Returns where the browser goes next. */
export const confirmCode = async (code: string): Promise<string> =>
  (await client.post(`${PENDING}/confirm`, { body: { code } })).data.redirect_to;

/** Connects what waits in this browser to the account that is signed in. */
export const connectPending = async (): Promise<void> => {
  await client.post('/api/v1/users/me/identities/pending');
};

/** Returns the email of the account that is signed in; null if nobody is. */
export async function signedInAs(): Promise<string | null> {
  if ((await client.auth.restore()) !== 'authenticated') return null;
  return (await client.get('/api/v1/users/me')).data.email;
}
