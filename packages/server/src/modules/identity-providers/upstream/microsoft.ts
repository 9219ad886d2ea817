// What is special about Microsoft Entra ID: people of any tenant can sign in, and administrators of a tenant choose what `email` says.
import { UpstreamError, type UpstreamProvider } from './assertion.ts';

const HOST = 'https://login.microsoftonline.com/';
/** Names that stand for several tenants. The issuer in their document has a placeholder. */
const several: ReadonlySet<string> = new Set(['common', 'organizations', 'consumers']);
const PLACEHOLDER = '{tenantid}';

const tenantIn = (issuer: string): string => issuer.slice(HOST.length).split('/')[0] ?? '';

/** Returns the issuer as the document at this address has it. */
export function microsoftIssuer(issuer: string): string {
  const tenant = tenantIn(issuer);
  return several.has(tenant) ? `${HOST}${PLACEHOLDER}/v2.0` : issuer;
}

/** Returns the tenant of somebody. Throws UpstreamError unless the record lists it, or names it as its only one. */
export function tenantOf(
  { issuer, tenants }: UpstreamProvider,
  { tid, iss }: Readonly<Record<string, unknown>>,
): string {
  const named = tenantIn(issuer);
  const allowed = several.has(named) ? tenants : [named];
  const tenant = typeof tid === 'string' ? tid.toLowerCase() : '';
  const isListed = allowed.some((one) => one.toLowerCase() === tenant);
  if (!isListed || iss !== `${HOST}${tid}/v2.0`) throw new UpstreamError('unacceptable', 'tenant_not_listed');
  return tenant;
}

/**
 * Whether the domain of `email` belongs to the tenant: `xms_edov`, an optional claim, which comes as a number or as text, too. Without
 * it, administrators of any tenant can give their people any address.
 */
export const ownsDomain = ({ xms_edov: told }: Readonly<Record<string, unknown>>): boolean =>
  told === true || told === 1 || told === '1' || told === 'true';
