// Which issuer a provider of each kind has, and which tenants of Microsoft may sign in. An issuer is compared character by
// character later, so it stays as it is written.
import type { ProviderKind } from '@castellan/contract/identity-providers';
import { UUID } from '../../platform/ids.ts';
import { refusal } from './refusal.ts';

/** Their documentation, read in 2026: accounts.google.com and appleid.apple.com publish metadata; GitHub has none. */
const fixedIssuers: Readonly<Partial<Record<ProviderKind, string>>> = {
  google: 'https://accounts.google.com',
  github: 'https://github.com',
  apple: 'https://appleid.apple.com',
};

const MICROSOFT = /^https:\/\/login\.microsoftonline\.com\/([^/?#]+)\/v2\.0$/;
/** They stand for many tenants. */
const sharedTenants: ReadonlySet<string> = new Set(['organizations', 'common']);

/** Hosts whose addresses and subjects mean what only the rules of their own kind know. */
const kindOfHost: ReadonlyMap<string, ProviderKind> = new Map([
  ['accounts.google.com', 'google'],
  ['login.microsoftonline.com', 'microsoft'],
  ['github.com', 'github'],
  ['appleid.apple.com', 'apple'],
]);

const loopbackHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

type Rules = { kind: ProviderKind; publicUrl: string };

/** Returns the issuer of a new provider, or of a changed one. Throws `validation_failed` (422). */
export function issuerOf(given: string | undefined, { kind, publicUrl }: Rules): string {
  const fixed = fixedIssuers[kind];
  if (fixed !== undefined) {
    if (given === undefined || given === fixed) return fixed;
    throw refusal('issuer', 'fixed', `of this kind is always ${fixed}; leave it out`);
  }
  if (given === undefined)
    throw refusal(
      'issuer',
      'missing',
      kind === 'microsoft'
        ? 'is needed, such as https://login.microsoftonline.com/{tenant id}/v2.0'
        : 'is needed, such as https://id.example.com',
    );
  if (kind === 'microsoft') tenantIn(given);
  else requireIssuer(given, publicUrl);
  return given;
}

/** Throws unless this is the address of an issuer (OpenID Connect Discovery 1.0, 3): https, without query and fragment. */
function requireIssuer(text: string, publicUrl: string): void {
  if (/[^\x21-\x7e]/.test(text) || /[\\"<>^`{|}]/.test(text))
    throw refusal(
      'issuer',
      'unsafe_character',
      'must consist of visible ASCII characters without \\ " < > ^ ` { | }',
    );
  if (text.includes('#')) throw refusal('issuer', 'fragment', 'must not have a fragment');
  if (text.includes('?')) throw refusal('issuer', 'query', 'must not have a query');
  const [, scheme, authority = '', path = ''] = /^(https?):\/\/([^/]+)(.*)$/.exec(text) ?? [];
  if (authority.includes('@'))
    throw refusal('issuer', 'user_info', 'must not contain a user name or a password');
  const url = scheme !== undefined && URL.canParse(text) ? new URL(text) : undefined;
  if (!url) throw refusal('issuer', 'invalid_url', 'must be a whole address, such as https://id.example.com');
  if (url.pathname !== (path === '' ? '/' : path))
    throw refusal(
      'issuer',
      'unsafe_path',
      'must not contain the path segments . or ..; write the path that is meant',
    );
  const kind = kindOfHost.get(url.hostname);
  if (kind !== undefined)
    throw refusal(
      'issuer',
      'other_kind',
      `is at a provider of kind ${kind}; use that kind, which checks what its addresses are worth`,
    );
  if (scheme === 'https') return;
  if (publicUrl.startsWith('http:') && loopbackHosts.has(url.hostname)) return;
  throw refusal(
    'issuer',
    'not_https',
    'must begin with https://; http is for 127.0.0.1, [::1] and localhost, while PUBLIC_URL begins with http, too',
  );
}

/** Returns the tenant that the issuer names; null if it stands for many. */
function tenantIn(issuer: string): string | null {
  const [, tenant = ''] = MICROSOFT.exec(issuer) ?? [];
  if (sharedTenants.has(tenant)) return null;
  if (UUID.test(tenant) && tenant === tenant.toLowerCase()) return tenant;
  throw refusal(
    'issuer',
    'invalid_url',
    'must be https://login.microsoftonline.com/{tenant}/v2.0, with the id of a tenant in lower case, organizations or common',
  );
}

/**
 * Returns the tenants whose people may sign in: those given, or the only one that the issuer names. Throws `validation_failed` (422),
 * also for an issuer of many tenants without a list: then everybody with a Microsoft account could come.
 */
export function tenantsOf(
  given: readonly string[],
  { kind, issuer }: { kind: ProviderKind; issuer: string },
): string[] {
  if (kind !== 'microsoft') {
    if (given.length > 0)
      throw refusal('tenants', 'not_allowed', 'must be empty; only Microsoft has tenants');
    return [];
  }
  const tenants = [...new Set(given.map((one) => one.toLowerCase()))];
  for (const [index, one] of tenants.entries())
    if (!UUID.test(one))
      throw refusal(`tenants.${index}`, 'invalid_id', 'must be the id of a tenant, a UUID');
  const only = tenantIn(issuer);
  if (only !== null) {
    if (tenants.some((one) => one !== only))
      throw refusal('tenants', 'not_allowed', 'must name the tenant of the issuer only; leave it out');
    return [only];
  }
  if (tenants.length === 0)
    throw refusal(
      'tenants',
      'missing',
      'must name the tenants whose people may sign in, because the issuer stands for many',
    );
  return tenants;
}
