// Signs in at an issuer in this process, without a service: the functions that talk to providers, with a clock of the test.
import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import { type Issuer, type IssuerOptions, startIssuer } from '@castellan/testing/openid/issuer';
import {
  UpstreamError,
  type UpstreamProvider,
} from '../../../src/modules/identity-providers/upstream/assertion.ts';
import { finishUpstream } from '../../../src/modules/identity-providers/upstream/exchange.ts';
import { beginUpstream } from '../../../src/modules/identity-providers/upstream/sending.ts';
import { createUpstreams } from '../../../src/modules/identity-providers/upstream/upstreams.ts';
import { parseRanges } from '../../../src/platform/security/address-ranges.ts';

export const REDIRECT_URI = 'http://castellan.test/api/v1/auth/providers/acme/callback';

export type Setting = {
  issuer: Issuer;
  provider: UpstreamProvider;
  deps: ReturnType<typeof depsOf>;
};

const defaultAuth: Partial<Record<string, UpstreamProvider['client_auth']>> = {
  apple: 'private_key',
  github: 'client_secret_post',
};

/** Starts an issuer, and returns the record that names it. */
export async function setUp(
  t: TestContext,
  changed: Partial<UpstreamProvider> = {},
  options: IssuerOptions = {},
): Promise<Setting> {
  const kind = options.kind ?? 'oidc';
  const issuer = await startIssuer(t, options);
  const provider: UpstreamProvider = {
    id: randomUUID(),
    slug: 'acme',
    kind,
    issuer: issuer.issuer,
    client_id: issuer.client.id,
    client_auth: defaultAuth[kind] ?? 'client_secret_basic',
    secret_sealed: Buffer.from(issuer.client.secret ?? ''),
    team_id: null,
    key_id: null,
    scopes: ['openid', 'profile', 'email'],
    domains: [],
    tenants: [],
    version: 1,
    extra_parameters: {},
    role_mapping: [],
    ...changed,
  };
  return { issuer, provider, deps: depsOf(issuer) };
}

/** Returns what the functions need. `time.now` is the monotonic clock in milliseconds; `codes` are those that were logged. */
export function depsOf({ addresses }: Pick<Issuer, 'addresses'>, settings: object = {}) {
  const time = { now: 0 };
  const codes: string[] = [];
  const log = { warn: ({ code }: { code: string }) => void codes.push(code) };
  const clock = { now: () => Date.now() };
  const upstreams = createUpstreams({
    settings: { outboundDeny: parseRanges(''), publicUrl: 'http://castellan.test', ...settings },
    clock,
    log: log as never,
    // As the vault does; an empty one stands for another SECRET_KEY.
    openSecret: ({ secret_sealed: sealed }) =>
      sealed === null ? null : sealed.length === 0 ? undefined : sealed.toString(),
    addresses,
    now: () => time.now,
  });
  return { upstreams, clock, time, codes };
}

export const STATE = 'state-of-this-browser';

/** Begins a sign-in, and returns the URL and how it is finished with what the browser brings. */
export async function begin(
  { provider, deps }: Setting,
  asked: { maxAge?: number; asksAgain?: boolean } = {},
) {
  const begun = await beginUpstream(deps, provider, { state: STATE, redirectUri: REDIRECT_URI, ...asked });
  const { verifier, nonce } = begun;
  return {
    ...begun,
    finish: (parameters: URLSearchParams) =>
      finishUpstream(deps, provider, {
        verifier,
        nonce,
        state: STATE,
        redirectUri: REDIRECT_URI,
        parameters,
        ...asked,
      }),
  };
}

export async function signInAt(setting: Setting, asked: { maxAge?: number; asksAgain?: boolean } = {}) {
  const { url, finish } = await begin(setting, asked);
  return finish(setting.issuer.approve(url).parameters);
}

/** Returns `kind code` of the failure; `passed` if there is none. */
export async function failureOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'passed';
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    return `${error.kind} ${error.code}`;
  }
}
