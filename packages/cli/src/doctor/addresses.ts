// Looks at the addresses of applications that what they send and receive crosses a network to without encryption. Only reads.
import type { Foundation } from '@castellan/server/start/foundation';
import { type Report, warn } from './finding.ts';

type Pool = Foundation['deps']['pool'];

const loopbackHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
const MAX_APPLICATIONS = 5;

/** Returns nothing unless an active application has an address with http on another machine. */
export async function lookAtPlainAddresses(pool: Pick<Pool, 'query'>): Promise<Report[]> {
  const { rows: tables } = await pool.query<{ there: boolean }>(
    `select to_regclass('applications') is not null as there`,
  );
  if (!tables[0]?.there) return [];
  const { rows } = await pool.query<{ name: string; addresses: string[] }>(
    `select name, array(select address from unnest(redirect_uris || post_logout_redirect_uris || allowed_origins
                          || array[backchannel_logout_url, jwks_url]) as address
                        where address like 'http://%') as addresses
     from applications where is_active order by lower(name)`,
  );
  const found = rows
    .map(({ name, addresses }) => ({ name, plain: addresses.filter(leavesThisMachine) }))
    .filter(({ plain }) => plain.length > 0);
  return found
    .slice(0, MAX_APPLICATIONS)
    .map(({ name, plain }, index) =>
      warn(
        `${name} has ${plain.length === 1 ? 'an address' : `${plain.length} addresses`} without encryption: ${plain[0]}${
          index === MAX_APPLICATIONS - 1 && found.length > MAX_APPLICATIONS
            ? `; ${found.length - MAX_APPLICATIONS} more applications have such addresses`
            : ''
        }`,
        'Use https: an attacker on the network reads codes and logout tokens, and can pose as the application.',
      ),
    );
}

const leavesThisMachine = (address: string): boolean => !loopbackHosts.has(new URL(address).hostname);
