// SQL that keeps the marks of migration 0035 near each other and their numbers recent. without-roles-store.ts reads them.
// All of it must run in a snapshot (repeatable read): a mark and the changes in it belong to the same one.
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import type { Tx } from '../../schema/database.ts';
import { markKeys, type UserOrder, withoutRolesKeys } from './user-orders.ts';

/** Returns whether this transaction may renew the marks; false while another one does. */
export async function lockWithoutRolesMarks(tx: Tx): Promise<boolean> {
  const result = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended('without_roles_marks', 0)) as locked`.execute(tx);
  return onlyRow(result).locked;
}

/** Returns the number of changes that no mark includes. */
export async function countWithoutRolesChanges(tx: Tx): Promise<number> {
  const result = await sql<{ count: string }>`select count(*) as count from without_roles_changes`.execute(
    tx,
  );
  return Number(onlyRow(result).count);
}

/** Adds at most `limit` changes to the marks. */
export async function addWithoutRolesChanges(tx: Tx, limit: number): Promise<void> {
  await sql`
    with gone as (
      delete from without_roles_changes
      where ctid = any(array(select ctid from without_roles_changes limit ${limit})) returning *),
    placed as (
      select m."order", m.id, true as is_mark, m.created_at, m.email, m.last_name, 0 as change
      from without_roles_marks m where m."order" <> 'end'
      union all
      select o."order", c.id, false, c.created_at, c.email, c.last_name, c.change
      from gone c cross join (values ('created_at'), ('email'), ('last_name')) as o ("order")),
    summed as (
      select "order", id, is_mark, sum(change) over before as more from placed
      -- A change of the marked user itself is not before the mark.
      window before as (
        partition by "order" order by case "order" when 'created_at' then created_at end,
          case "order" when 'email' then email when 'last_name' then last_name end, id, is_mark desc
        rows between unbounded preceding and 1 preceding)
      union all
      select 'end', ${NIL}, true, sum(change) from gone)
    update without_roles_marks m set before = m.before + s.more
    from summed s where s.is_mark and s."order" = m."order" and s.id = m.id and s.more <> 0`.execute(tx);
}

const NIL = sql`'00000000-0000-0000-0000-000000000000'::uuid`;

type Gap = { id: string | null; before: number; width: number };

/** Returns the widest gap of the order: the mark before it (null: the beginning), and its users. */
async function findWidestGap(tx: Tx, order: UserOrder): Promise<Gap | undefined> {
  const { rows } = await sql<{ id: string | null; before: string; width: string }>`
    with placed as (
      select null::uuid as id, 0 as before
      union all
      select id, before from without_roles_marks where "order" in (${order}, 'end'))
    select case when id <> ${NIL} then id end as id, before, width from (
      select id, before, lead(before) over (order by before, id nulls first) - before as width from placed) gaps
    where width is not null order by width desc limit 1`.execute(tx);
  const [gap] = rows;
  return gap && { id: gap.id, before: Number(gap.before), width: Number(gap.width) };
}

/** Returns whether `splitWidestGap` would split a gap of the order. */
export const isWithoutRolesGapWide = async (tx: Tx, order: UserOrder, step: number): Promise<boolean> =>
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
  const key = withoutRolesKeys[order];
  const fromMark =
    gap.id === null
      ? sql`true`
      : sql`(${key}, w.id) >= (
          (select ${markKeys[order]} from without_roles_marks m where m."order" = ${order} and m.id = ${gap.id}), ${gap.id}::uuid)`;
  await sql`
    insert into without_roles_marks ("order", id, created_at, email, last_name, before)
    select ${order}, w.id, w.created_at, w.email, w.last_name, ${gap.before}::bigint + w.place - 1
    from (
      select w.*, row_number() over (order by ${key}, w.id) as place
      from users_without_roles w where ${fromMark} order by ${key}, w.id limit ${stretch}) w
    where (w.place - 1) % ${step} = 0 and w.place between 2 and ${gap.width - step / 2}
    -- A mark stays where its user was until the user is chosen again.
    on conflict ("order", id) do update set created_at = excluded.created_at, email = excluded.email,
      last_name = excluded.last_name, before = excluded.before`.execute(tx);
  return true;
}
