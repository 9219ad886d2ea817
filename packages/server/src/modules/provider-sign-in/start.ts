// Begins a sign-in at a provider: makes state and cookie, and keeps what the callback needs.
// It must not hold a connection to the database while the provider is asked.
import type { PublicProvider } from '@castellan/contract/identities';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { randomToken } from '../../platform/ids.ts';
import { recordBounded } from '../audit/service.ts';
import { findActiveProvider, listShownProviders, type ProviderRow } from '../identity-providers/store.ts';
import { UpstreamError } from '../identity-providers/upstream/assertion.ts';
import { beginUpstream } from '../identity-providers/upstream/sending.ts';
import { findDeviceRequest } from '../openid/device/store.ts';
import { findRequest, requestIdHash } from '../openid/interactions/service.ts';
import { devicePath, type Onward } from './addresses.ts';
import type { ProviderSignInDeps } from './deps.ts';
import { BEGUN_SECONDS, hashOf, insertBegun } from './store.ts';

/** What a sign-in is for: to begin a session, or to connect an identity to the account of one. */
type Purpose = { purpose: 'sign_in' } | { purpose: 'connect'; userId: string; sessionId: string };

/** What the row keeps sealed. */
export type Begun = Onward & {
  /** The id in the CSRF cookie: only this browser can do the second step. */
  browserId: string;
  /** Null for a provider without ID tokens. */
  nonce: string | null;
  verifier: string;
  maxAge: number | null;
};

type Start = {
  client: Client;
  slug: string;
  browserId: string;
  onward: Onward;
  /** Whether the provider must ask the person again, so that the sign-in proves who they are now. */
  asksAgain: boolean;
} & Purpose;

/** `cookie`: what the browser has to bring to the callback within so many seconds. */
export type Started = { redirectTo: string; cookie: string; keepSeconds: number };

/** Throws `identity_provider_not_found` (404) and `provider_unavailable` (503). */
export async function beginSignIn(
  deps: ProviderSignInDeps,
  { client, slug, browserId, onward, asksAgain, ...purpose }: Start,
): Promise<Started> {
  const provider = await findActiveProvider(deps.db, slug);
  if (!provider) throw new AppError('identity_provider_not_found');
  const [state, cookie] = [randomToken(), randomToken()];
  const waiting =
    onward.interaction === null ? null : await findRequest(deps.db, 'interaction', onward.interaction);
  const asked = waiting ? askedFor(provider, waiting.parameters) : {};
  const goesTo = waiting === undefined ? await ofDevice(deps, onward) : onward;
  const { url, nonce, verifier } = await beginUpstream(deps, provider, {
    state,
    redirectUri: redirectUriOf(deps, provider.slug),
    ...asked,
    asksAgain: asksAgain || asked.asksAgain === true,
  }).catch(async (error: unknown) => {
    if (!(error instanceof UpstreamError)) throw error;
    deps.providerSignIns.count('unavailable');
    await recordBounded(deps, client, {
      action: 'provider_sign_in_failed',
      actorId: null,
      details: { provider: slug, reason: 'unavailable', code: error.code },
    });
    throw new AppError('provider_unavailable', { retryAfterSeconds: error.retryAfterSeconds });
  });
  const stateHash = hashOf(state);
  const begun: Begun = { ...goesTo, browserId, nonce, verifier, maxAge: asked.maxAge ?? null };
  const isConnect = purpose.purpose === 'connect';
  await insertBegun(deps.db, {
    state_hash: stateHash,
    cookie_hash: hashOf(cookie),
    provider_id: provider.id,
    purpose: purpose.purpose,
    user_id: isConnect ? purpose.userId : null,
    session_id: isConnect ? purpose.sessionId : null,
    begun_sealed: deps.providerSignIns.sealState(stateHash, begun),
  });
  return { redirectTo: url, cookie, keepSeconds: BEGUN_SECONDS };
}

/** Returns what the sign-in page shows. */
export const listProviders = ({ db }: Pick<ProviderSignInDeps, 'db'>): Promise<PublicProvider[]> =>
  listShownProviders(db);

/** Each slug has its own address, so that the answer of one provider cannot be taken for another's. */
export const redirectUriOf = ({ settings }: Pick<ProviderSignInDeps, 'settings'>, slug: string): string =>
  `${settings.publicUrl}/api/v1/auth/providers/${slug}/callback`;

/** Leads back to the page of a device, if the sign-in was begun there: no authorization request waits for it. */
async function ofDevice({ db, settings }: ProviderSignInDeps, onward: Onward): Promise<Onward> {
  const idHash = onward.interaction === null ? undefined : requestIdHash(onward.interaction);
  const isOfDevice = idHash !== undefined && (await findDeviceRequest(db, idHash)) !== undefined;
  return isOfDevice ? { next: devicePath(settings, onward.interaction ?? ''), interaction: null } : onward;
}

/** Returns what the application that waits asks for, as far as the provider can answer it. */
function askedFor(
  { acr_mapping: levels }: ProviderRow,
  parameters: Readonly<Record<string, unknown>>,
): { acrValues?: string; maxAge?: number; asksAgain?: true; loginHint?: string } {
  const words = (name: string): string[] => {
    const value = parameters[name];
    return typeof value === 'string' ? value.split(' ') : [];
  };
  const [maxAge, loginHint] = [words('max_age')[0], parameters.login_hint];
  const acrValues = Object.keys(levels).join(' ');
  return {
    ...(words('acr_values').includes('aal2') && acrValues !== '' ? { acrValues } : {}),
    // A person who is to select an account, or has asked for another one, would come back as the one whom the provider remembers.
    ...(['login', 'select_account'].some((one) => words('prompt').includes(one)) ? { asksAgain: true } : {}),
    ...(maxAge !== undefined && /^\d{1,10}$/.test(maxAge) ? { maxAge: Number(maxAge) } : {}),
    ...(typeof loginHint === 'string' && loginHint.length <= 254 ? { loginHint } : {}),
  };
}

/** Returns what a row keeps; null if this SECRET_KEY does not open it. */
export const openBegun = (
  { providerSignIns }: Pick<ProviderSignInDeps, 'providerSignIns'>,
  row: { state_hash: Buffer; begun_sealed: Buffer },
): Begun | null => providerSignIns.openState<Begun>(row.state_hash, row.begun_sealed);
