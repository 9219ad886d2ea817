// Which identity provider people with an email address must sign in by, as this instance last read it.
// It must not look for an account: the answer depends on the address alone.
import { AppError } from '../../platform/errors.ts';
import type { Db } from '../../schema/database.ts';
import { listRequiringProviders } from './store.ts';

type Named = { slug: string; name: string };

export type RequiredProviders = {
  /** Reads them again. The service does so every two seconds. */
  load(): Promise<void>;
  /** Returns the provider for a canonical email; undefined if its domain has none. Sends no statement. */
  find(email: string): Named | undefined;
};

/** Throws `provider_required` (422), which names the provider, if people with this canonical email sign in by one. */
export function refuseWhereRequired(
  { requiredProviders }: { requiredProviders: Pick<RequiredProviders, 'find'> },
  email: string,
): void {
  const provider = requiredProviders.find(email);
  if (provider) throw new AppError('provider_required', { members: { provider } });
}

/** With PROVIDER_REQUIRED=off, no provider is required, and nothing is read. */
export function createRequiredProviders(deps: {
  db: Db;
  settings: { providerRequired: boolean };
}): RequiredProviders {
  let byDomain: ReadonlyMap<string, Named> = new Map();
  return {
    async load() {
      if (!deps.settings.providerRequired) return;
      const providers = await listRequiringProviders(deps.db);
      // The first provider of a domain is the one that is named.
      byDomain = new Map(
        providers
          .toReversed()
          .flatMap(({ slug, name, domains }) => domains.map((domain) => [domain, { slug, name }] as const)),
      );
    },
    find: (email) => byDomain.get(email.slice(email.lastIndexOf('@') + 1)),
  };
}
