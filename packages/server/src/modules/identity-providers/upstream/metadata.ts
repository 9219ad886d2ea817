// Reads what a provider says about itself, as openid-client's configuration. It must not keep it.
import type { Configuration, CustomFetch } from 'openid-client';
import type { Clock } from '../../../platform/clock.ts';
import { type AskingSettings, allowsHttp } from './asking.ts';
import { UpstreamError, type UpstreamProvider } from './assertion.ts';
import { clientAuthOf } from './client-authentication.ts';
import { askGitHub, gitHub } from './github.ts';
import { microsoftIssuer } from './microsoft.ts';

const TIMEOUT_SECONDS = 5;
/** How far the clock of a provider may be off. */
export const CLOCK_SECONDS = 300;
const WELL_KNOWN = '.well-known/openid-configuration';

export type MetadataDeps = {
  settings: AskingSettings;
  clock: Clock;
  ask: CustomFetch;
  /** Null: the record has none. Undefined: it is sealed with another SECRET_KEY. */
  openSecret(provider: UpstreamProvider): string | null | undefined;
};

const withoutSlash = (issuer: string): string => issuer.replace(/\/$/, '');

/** Returns the address of the document that a provider's kind has; null for GitHub. */
export const documentOf = ({ kind, issuer }: UpstreamProvider): string | null =>
  kind === 'github' ? null : `${withoutSlash(issuer)}/${WELL_KNOWN}`;

/**
 * Returns whether the document at the address of this provider may have this issuer: the same text, with or without a slash at
 * the end. Microsoft's document for several tenants has a placeholder.
 */
export const isIssuerOf = ({ kind, issuer }: UpstreamProvider, told: unknown): boolean =>
  typeof told === 'string' &&
  withoutSlash(told) === withoutSlash(kind === 'microsoft' ? microsoftIssuer(issuer) : issuer);

/** Loads openid-client when the first sign-in needs it: no start pays for it. Rejects with what the library throws, or UpstreamError. */
export async function readConfiguration(
  { settings, clock, ask, openSecret }: MetadataDeps,
  provider: UpstreamProvider,
): Promise<Configuration> {
  const library = await import('openid-client');
  const { allowInsecureRequests, clockTolerance, discovery, enableNonRepudiationChecks } = library;
  const authentication = clientAuthOf(library, clock, provider, openSecret(provider));
  const metadata = { [clockTolerance]: CLOCK_SECONDS };
  if (provider.kind === 'github') {
    const configuration = new library.Configuration(gitHub, provider.client_id, metadata, authentication);
    configuration.timeout = TIMEOUT_SECONDS;
    configuration[library.customFetch] = askGitHub(ask);
    return configuration;
  }
  // Given the address of the document, the library compares no issuers. It does so for Microsoft's, whose placeholder it knows.
  const address = provider.kind === 'microsoft' ? provider.issuer : documentOf(provider);
  const isHttp = provider.issuer.startsWith('http:') && allowsHttp(settings);
  const configuration = await discovery(
    new URL(address ?? ''),
    provider.client_id,
    metadata,
    authentication,
    {
      [library.customFetch]: ask,
      timeout: TIMEOUT_SECONDS,
      execute: [enableNonRepudiationChecks, ...(isHttp ? [allowInsecureRequests] : [])],
    },
  );
  if (!isIssuerOf(provider, configuration.serverMetadata().issuer))
    throw new UpstreamError('unacceptable', 'issuer_differs');
  return configuration;
}
