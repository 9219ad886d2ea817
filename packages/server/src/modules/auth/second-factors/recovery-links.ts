// Issues recovery links that an administrator hands over. The mails issue their own when they are written.
import { sql } from 'kysely';
import { fillLink, TOKEN_PLACEHOLDER } from '../../../platform/mail/link-template.ts';
import type { Row, Tx } from '../../../schema/database.ts';
import { issueOneTimeToken, lifetimeMinutes } from '../one-time-tokens.ts';

export type RecoveryLinks = {
  /** Issues a link, and ends an earlier one. Returns its URL; null if the account is not active. */
  issue(tx: Tx, userId: string): Promise<string | null>;
  lifetimeMinutes: number;
};

export const createRecoveryLinks = (settings: { publicUrl: string }): RecoveryLinks => ({
  async issue(tx, userId) {
    const { rows } = await sql<Pick<Row<'users'>, 'id' | 'email' | 'link_epoch'>>`
      select id, email, link_epoch from users where id = ${userId}`.execute(tx);
    const token = rows[0] ? await issueOneTimeToken(tx, 'recover', rows[0]) : null;
    return token === null
      ? null
      : fillLink(`${settings.publicUrl}/login#recovery=${TOKEN_PLACEHOLDER}`, token);
  },
  lifetimeMinutes: lifetimeMinutes.recover,
});
