// Which signed proofs have been used, across all instances. A proof must be verified before it is noted here, so that nobody else
// can use up its id, nor fill the table.
import { hash } from 'node:crypto';
import { sql } from 'kysely';
import type { Db } from '../../schema/database.ts';

/** What `jti` is unique for. `id`: of the application, or the thumbprint of the key. */
export type ProofOwner = { kind: 'assertion' | 'dpop'; id: string };

/** Seconds that a row outlives its proof, so that it is never removed while an instance that judges by an earlier time takes the proof. */
const MARGIN_SECONDS = 60;

/** Notes that a proof is used. `endsAt`: in seconds since 1970. Returns false if it has been used before. */
export async function useProof(
  db: Db,
  owner: ProofOwner,
  { jti, endsAt }: { jti: string; endsAt: number },
): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    insert into used_proofs (owner, jti_hash, expires_at)
    values (${`${owner.kind}:${owner.id}`}, ${hash('sha256', jti, 'buffer')}, to_timestamp(${endsAt + MARGIN_SECONDS}))
    on conflict (owner, jti_hash) do nothing`.execute(db);
  return numAffectedRows > 0n;
}

/** Maximum rows that one statement deletes, so that it is short and holds few locks. */
const BATCH = 2_000;

/** Deletes expired rows for at most `budgetMs`; the next call continues. Returns their number. */
export async function forgetUsedProofs(db: Db, budgetMs: number): Promise<number> {
  const deadline = performance.now() + budgetMs;
  let total = 0;
  for (let deleted = BATCH; deleted === BATCH && performance.now() < deadline; total += deleted) {
    const result = await sql`
      delete from used_proofs where ctid = any(array(
        select ctid from used_proofs where expires_at < now()
        order by expires_at limit ${BATCH} for update skip locked))`.execute(db);
    deleted = Number(result.numAffectedRows ?? 0);
  }
  return total;
}
