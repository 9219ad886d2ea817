// Looks at whether services can follow the change feed. Only reads.
import type { Foundation } from '@castellan/server/start/foundation';
import { type Report, warn } from './finding.ts';

type Pool = Foundation['deps']['pool'];

/**
 * Returns nothing unless the role `Service` lets services ask about tokens and not follow the feed: it is older than the feed, and no
 * upgrade adds a permission to a role.
 */
export async function lookAtFeed(pool: Pick<Pool, 'query'>, { feed }: { feed: boolean }): Promise<Report[]> {
  if (!feed) return [];
  const { rows: tables } = await pool.query<{ there: boolean }>(
    `select to_regclass('role_permissions') is not null as there`,
  );
  if (!tables[0]?.there) return [];
  const { rows } = await pool.query<{ lacks: boolean }>(
    `select exists (
       select from roles r cross join permissions watch
       where r.name = 'Service' and watch.name = 'access.watch'
         and exists (select from role_permissions h join permissions p on p.id = h.permission_id
           where h.role_id = r.id and p.name = 'token.introspect')
         and not exists (select from role_permissions h where h.role_id = r.id and h.permission_id = watch.id)) as lacks`,
  );
  if (!rows[0]?.lacks) return [];
  return [
    warn(
      'the role Service lacks access.watch, so live guards of services with it ask at every check',
      'Add access.watch to the role if services have live guards: docs/integrate/live-decisions.md.',
    ),
  ];
}
