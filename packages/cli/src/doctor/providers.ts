// Looks at identity providers that people cannot sign in by, or not safely. Only reads.
import type { ProviderVault } from '@castellan/server/modules/identity-providers/vault';
import type { Foundation } from '@castellan/server/start/foundation';
import { bad, type Report, warn } from './finding.ts';

type Pool = Foundation['deps']['pool'];
type Deps = { pool: Pick<Pool, 'query'>; providerVault: Pick<ProviderVault, 'openSecret'> };

/** Returns nothing unless an active provider has a secret that SECRET_KEY does not open, or an issuer with http. */
export async function lookAtProviders({ pool, providerVault }: Deps): Promise<Report[]> {
  const { rows: tables } = await pool.query<{ there: boolean }>(
    `select to_regclass('identity_providers') is not null as there`,
  );
  if (!tables[0]?.there) return [];
  const { rows } = await pool.query<{
    id: string;
    slug: string;
    issuer: string;
    secret_sealed: Buffer | null;
  }>(
    'select id, slug, issuer, secret_sealed from identity_providers where is_active order by position, slug',
  );
  const unreadable = rows.filter((row) => providerVault.openSecret(row) === undefined);
  const plain = rows.filter(({ issuer }) => issuer.startsWith('http:'));
  return [
    ...(unreadable.length === 0
      ? []
      : [
          bad(
            `SECRET_KEY does not open the secrets of ${slugsOf(unreadable)}, so nobody signs in by them`,
            'Start with the former SECRET_KEY, or set the secret anew: docs/administer/sign-in-providers.md.',
          ),
        ]),
    ...(plain.length === 0
      ? []
      : [
          warn(
            `the issuer of ${slugsOf(plain)} has no encryption`,
            'Use https outside of development: anyone who can answer in its place signs in as anybody connected to it.',
          ),
        ]),
  ];
}

const slugsOf = (rows: readonly { slug: string }[]): string => rows.map(({ slug }) => slug).join(', ');
