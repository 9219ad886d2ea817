// Looks at webhooks whose events nobody can sign. Only reads.
import type { WebhookVault } from '@castellan/server/modules/webhooks/vault';
import type { Foundation } from '@castellan/server/start/foundation';
import { bad, type Report } from './finding.ts';

type Pool = Foundation['deps']['pool'];
type Deps = { pool: Pick<Pool, 'query'>; webhookVault: Pick<WebhookVault, 'open'> };

/** Returns nothing unless SECRET_KEY opens none of the live secrets of a webhook. */
export async function lookAtWebhooks({ pool, webhookVault }: Deps): Promise<Report[]> {
  const { rows: tables } = await pool.query<{ there: boolean }>(
    `select to_regclass('webhook_secrets') is not null as there`,
  );
  if (!tables[0]?.there) return [];
  const { rows } = await pool.query<{ webhook_id: string; name: string; id: string; secret_sealed: Buffer }>(
    `select s.webhook_id, w.name, s.id, s.secret_sealed from webhooks w join webhook_secrets s on s.webhook_id = w.id
     where s.ends_at is null or s.ends_at > now() order by w.name, w.id`,
  );
  const readable = new Set(
    rows
      .filter((row) => webhookVault.open(row.id, row.secret_sealed) !== undefined)
      .map((row) => row.webhook_id),
  );
  const unreadable = new Map(
    rows.filter((row) => !readable.has(row.webhook_id)).map((row) => [row.webhook_id, row.name]),
  );
  if (unreadable.size === 0) return [];
  return [
    bad(
      `SECRET_KEY does not open the secrets of the webhooks ${[...unreadable.values()].join(', ')}, so they get no events`,
      'Start with the former SECRET_KEY, or create new secrets with `castellan webhook rotate`: docs/operate/secrets.md.',
    ),
  ];
}
