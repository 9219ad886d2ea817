// Looks at logout notices that applications have not taken. Only reads.
import type { Foundation } from '@castellan/server/start/foundation';
import { type Report, warn } from './finding.ts';

type Pool = Foundation['deps']['pool'];

/** Later than that, the application has refused several attempts. */
const LATE_MINUTES = 15;

/** Returns nothing unless notices have waited for more than 15 minutes. */
export async function lookAtNotices(pool: Pick<Pool, 'query'>): Promise<Report[]> {
  const { rows: tables } = await pool.query<{ there: boolean }>(
    `select to_regclass('logout_notices') is not null as there`,
  );
  if (!tables[0]?.there) return [];
  const { rows } = await pool.query<{ name: string; notices: number }>(
    `select coalesce(a.name, n.application ->> 'client_id', n.application_id::text) as name, count(*)::integer as notices
     from logout_notices n left join applications a on a.id = n.application_id
     where n.state = 'waiting' and n.created_at < now() - make_interval(mins => $1)
     group by 1 order by 2 desc limit 5`,
    [LATE_MINUTES],
  );
  return rows.map(({ name, notices }) =>
    warn(
      `${name} has not been told of ${notices} ended sessions for more than ${LATE_MINUTES} min`,
      'List the logout notices of the application, and check its backchannel_logout_url: docs/operate/openid.md.',
    ),
  );
}
