// SQL of the made-up second factors. Nobody can use one: secrets are random and handed to nobody, and keys are no keys.
import { sql } from 'kysely';
import { newRecoveryCodes } from '../../platform/security/factors/recovery-codes.ts';
import { newTotpSecret } from '../../platform/security/factors/totp.ts';
import type { Tx } from '../../schema/database.ts';
import type { Factors } from './factors.ts';

/** `codeHash`: of a code that nobody has. One for all keeps many people as quick as few. */
export type FactorSecrets = {
  seal(userId: string, secret: Buffer): Buffer;
  rpId: string;
  codeHash: string;
};

const CODES = 10;

/** Inserts the factors. Triggers note them at the users. */
export async function insertFactors(
  tx: Tx,
  factors: readonly Factors[],
  { seal, rpId, codeHash }: FactorSecrets,
): Promise<void> {
  const apps = factors.flatMap(({ app }) =>
    app ? [{ ...app, sealed: seal(app.user_id, newTotpSecret()).toString('base64') }] : [],
  );
  await sql`
    insert into totp_factors (user_id, secret_sealed, created_at, last_used_at)
    select user_id, decode(sealed, 'base64'), now() - age_s * interval '1 second',
      now() - last_used_age_s * interval '1 second'
    from json_to_recordset(${JSON.stringify(apps)}::json) as a (user_id uuid, sealed text, age_s integer,
      last_used_age_s integer)`.execute(tx);
  // The id stands in for the credential id, which must be unique.
  await sql`
    insert into passkeys (id, user_id, credential_id, public_key, kind, name, rp_id, sign_count, transports,
      backup_eligible, backed_up, created_at, last_used_at)
    select id, user_id, uuid_send(id), '', kind, name, ${rpId}::text, 0,
      array(select json_array_elements_text(transports)), backed_up, backed_up, now() - age_s * interval '1 second',
      now() - last_used_age_s * interval '1 second'
    from json_to_recordset(${JSON.stringify(factors.flatMap(({ passkeys }) => passkeys))}::json) as p (id uuid, user_id uuid,
      kind text, name text, transports json, backed_up boolean, age_s integer, last_used_age_s integer)`.execute(
    tx,
  );
  const codes = factors.flatMap(({ codes: { user_id, age_s, used } }) =>
    newRecoveryCodes(CODES).map(({ selector }, at) => ({ user_id, selector, age_s, is_used: at < used })),
  );
  await sql`
    insert into recovery_codes (user_id, selector, code_hash, created_at, used_at)
    select user_id, selector, ${codeHash}::text, now() - age_s * interval '1 second',
      case when is_used then now() - age_s * interval '1 second' / 2 end
    from json_to_recordset(${JSON.stringify(codes)}::json) as c (user_id uuid, selector text, age_s integer,
      is_used boolean)`.execute(tx);
}

/** Announces that holders of the role must have a second factor, in 14 days. */
export async function announceRequirement(tx: Tx, role: string): Promise<void> {
  await sql`
    update roles set required_acr = 'aal2', enforced_from = now() + interval '14 days' where name = ${role}`.execute(
    tx,
  );
}
