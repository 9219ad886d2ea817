// SQL that keeps the marks of migration 0022 near each other and their numbers recent. kinds-store.ts reads them.
// All but `shrinkChanges` must run in a snapshot (repeatable read): a mark and the changes in it belong to the same one.
import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../../../schema/database.ts';
import { markKeys, type UserOrder, userKeys } from './user-orders.ts';

/** Returns whether this transaction may renew the marks; false while another one does. */
export async function lockMarks(tx: Tx): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean | null }>`
    select pg_try_advisory_xact_lock(hashtextextended('user_marks', 0)) as locked`.execute(tx);
  return rows[0]?.locked === true;
}

/** Returns the number of changes that no mark includes. */
export async function countChanges(tx: Tx): Promise<number> {
  const { rows } = await sql<{ count: string }>`select count(*) as count from user_changes`.execute(tx);
  return Number(rows[0]?.count ?? 0);
}

/** Adds at most `limit` changes to the marks. */
export async function addChanges(tx: Tx, limit: number): Promise<void> {
  await sql`
    with gone as (
      delete from user_changes where ctid = any(array(select ctid from user_changes limit ${limit})) returning *),
    placed as (
      select m."order", m.id, true as is_mark, m.created_at, m.email, m.last_name, 0 as change, false as is_active,
        false as verified
      from user_marks m where m."order" <> 'end'
      union all
      select o."order", c.id, false, c.created_at, c.email, c.last_name, c.change, c.is_active, c.verified
      from gone c cross join (values ('created_at'), ('email'), ('last_name')) as o ("order")),
    summed as (
      select "order", id, is_mark,
        sum(change) filter (where is_active and verified) over before as av,
        sum(change) filter (where is_active and not verified) over before as au,
        sum(change) filter (where not is_active and verified) over before as iv,
        sum(change) filter (where not is_active and not verified) over before as iu
      from placed
      -- A change of the marked user itself is not before the mark.
      window before as (
        partition by "order" order by case "order" when 'created_at' then created_at end,
          case "order" when 'email' then email when 'last_name' then last_name end, id, is_mark desc
        rows between unbounded preceding and 1 preceding)
      union all
      select 'end', ${NIL}, true, sum(change) filter (where is_active and verified),
        sum(change) filter (where is_active and not verified), sum(change) filter (where not is_active and verified),
        sum(change) filter (where not is_active and not verified)
      from gone)
    update user_marks m set active_verified = m.active_verified + coalesce(s.av, 0),
      active_unverified = m.active_unverified + coalesce(s.au, 0),
      inactive_verified = m.inactive_verified + coalesce(s.iv, 0),
      inactive_unverified = m.inactive_unverified + coalesce(s.iu, 0)
    from summed s where s.is_mark and s."order" = m."order" and s.id = m.id
      and (s.av <> 0 or s.au <> 0 or s.iv <> 0 or s.iu <> 0)`.execute(tx);
}

/** Deletes the marks whose users were deleted, or have another email, name or time since. Their numbers are in no other mark. */
export async function deleteOldMarks(tx: Tx): Promise<void> {
  await sql`
    delete from user_marks m where m."order" <> 'end' and not exists (
      select from users u where u.id = m.id
        and (u.created_at, u.email, lower(u.last_name)) = (m.created_at, m.email, m.last_name))`.execute(tx);
}

// Read by every page in less than a millisecond.
const MAX_BYTES = 1_048_576;

/**
 * Gives back the space of many changes that marks include now. Every page reads the table, and PostgreSQL vacuums one with
 * few rows for no other reason. Without effect while an older transaction runs; the next call tries again.
 */
export async function shrinkChanges(db: Db): Promise<void> {
  const { rows } = await sql<{ is_large: boolean | null }>`
    select pg_relation_size('user_changes'::regclass) > ${MAX_BYTES} as is_large`.execute(db);
  if (rows[0]?.is_large) await sql`vacuum user_changes`.execute(db);
}

const NIL = sql`'00000000-0000-0000-0000-000000000000'::uuid`;

type Gap = { id: string | null; width: number };

/** Returns the widest gap of the order: the mark before it (null: the beginning), and its users. */
async function findWidestGap(tx: Tx, order: UserOrder): Promise<Gap | undefined> {
  const { rows } = await sql<{ id: string | null; width: string }>`
    with placed as (
      select null::uuid as id, 0 as before
      union all
      select id, active_verified + active_unverified + inactive_verified + inactive_unverified
      from user_marks where "order" in (${order}, 'end'))
    select case when id <> ${NIL} then id end as id, width from (
      select id, lead(before) over (order by before, id nulls first) - before as width from placed) gaps
    where width is not null order by width desc limit 1`.execute(tx);
  const [gap] = rows;
  return gap && { id: gap.id, width: Number(gap.width) };
}

/** Returns whether `splitWidestGap` would split a gap of the order. */
export const isGapWide = async (tx: Tx, order: UserOrder, step: number): Promise<boolean> =>
  ((await findWidestGap(tx, order))?.width ?? 0) > 2 * step;

/**
 * Sets marks every `step` users in the first `stretch` users of the widest gap of the order, if it is wider than two
 * steps. Returns whether it was. Call it when the marks include every change.
 */
export async function splitWidestGap(
  tx: Tx,
  order: UserOrder,
  { step, stretch }: { step: number; stretch: number },
): Promise<boolean> {
  const gap = await findWidestGap(tx, order);
  if (!gap || gap.width <= 2 * step) return false;
  const key = userKeys[order];
  const fromMark =
    gap.id === null
      ? sql`true`
      : sql`(${key}, u.id) >= ((select ${markKeys[order]} from user_marks m where m."order" = ${order} and m.id = ${gap.id}), ${gap.id}::uuid)`;
  const counted = (kind: RawBuilder<unknown>) => sql`count(*) filter (where ${kind}) over before`;
  await sql`
    insert into user_marks ("order", id, created_at, email, last_name, active_verified, active_unverified,
      inactive_verified, inactive_unverified)
    select ${order}, u.id, u.created_at, u.email, u.last_name, u.av + coalesce(m.active_verified, 0),
      u.au + coalesce(m.active_unverified, 0), u.iv + coalesce(m.inactive_verified, 0),
      u.iu + coalesce(m.inactive_unverified, 0)
    from (
      select u.id, u.created_at, u.email, lower(u.last_name) as last_name, row_number() over before as place,
        ${counted(sql`u.is_active and u.verified`)} as av, ${counted(sql`u.is_active and not u.verified`)} as au,
        ${counted(sql`not u.is_active and u.verified`)} as iv, ${counted(sql`not u.is_active and not u.verified`)} as iu
      from (select * from users u where ${fromMark} order by ${key}, u.id limit ${stretch}) u
      window before as (order by ${key}, u.id rows between unbounded preceding and 1 preceding)) u
    left join user_marks m on m."order" = ${order} and m.id = ${gap.id}::uuid
    where (u.place - 1) % ${step} = 0 and u.place between 2 and ${gap.width - step / 2}
    -- A mark stays where its user was until the user is chosen again.
    on conflict ("order", id) do update set created_at = excluded.created_at, email = excluded.email,
      last_name = excluded.last_name, active_verified = excluded.active_verified,
      active_unverified = excluded.active_unverified, inactive_verified = excluded.inactive_verified,
      inactive_unverified = excluded.inactive_unverified`.execute(tx);
  return true;
}
