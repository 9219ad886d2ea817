// Chooses how the users are found who have a role and match other filters, from kept numbers. It must not read a page.
import type { Db } from '../../../schema/database.ts';
import { type Kind, kindOf } from './counted-kinds.ts';
import type { AttributeCondition, UserFilter, Way } from './filters.ts';
import { type Numbers, readNumbers } from './kept-numbers-store.ts';
import { countWithValues, isInMany, MAX_COUNTED } from './list-store.ts';

/** To join two sets of up to this size costs less than to look `MAX_COUNTED` users of one up in the other. */
const MAX_JOINED = 2 * MAX_COUNTED;
/** To look one user up costs about as much as to read so many one after the other. */
const USERS_PER_LOOKUP = 25;

/** Returns how to find those who match, and how many do at least, as far as kept numbers tell. */
export async function findWay(db: Db, filter: UserFilter): Promise<{ way: Way; atLeast: number }> {
  const { roleId, ...rest } = filter;
  if (filter.attributes) return { way: await wayByAttributes(db, filter), atLeast: 0 };
  // A walk by id counts those after the id. Nobody has a role and none.
  if (roleId === undefined || rest.afterId !== undefined || rest.withoutRoles)
    return { way: 'role', atLeast: 0 };
  const kind = kindOf(rest);
  const numbers = await readNumbers(db, roleId, kind);
  // Those who are not of the kind may all have the role.
  const atLeast = kind === undefined ? 0 : numbers.holders + numbers.ofKind - numbers.all;
  return { way: await wayOf(db, rest, kind, numbers), atLeast };
}

/** The rarest value comes first in the filter. */
async function wayByAttributes(db: Db, { roleId, attributes = [], ...others }: UserFilter): Promise<Way> {
  const [rarest = 0] = await countWithValues(db, attributes.slice(0, 1));
  if (rarest <= MAX_COUNTED) return 'attribute first';
  if (attributes.length > 1) return 'attributes joined';
  if (roleId === undefined && Object.keys(others).length === 0) return 'attribute first';
  if (roleId === undefined) return 'rest first';
  const { holders } = await readNumbers(db, roleId, undefined);
  return holders <= MAX_COUNTED ? 'role' : 'holders first';
}

/** Returns the conditions, the rarest value first. */
export async function rarestFirst(
  db: Db,
  conditions: readonly AttributeCondition[],
): Promise<AttributeCondition[]> {
  if (conditions.length < 2) return [...conditions];
  const counts = await countWithValues(db, conditions);
  return conditions
    .map((condition, at) => ({ condition, count: counts[at] ?? 0 }))
    .sort((one, other) => one.count - other.count)
    .map(({ condition }) => condition);
}

async function wayOf(
  db: Db,
  rest: UserFilter,
  kind: Kind | undefined,
  { holders, all, ofKind }: Numbers,
): Promise<Way> {
  // The planner expects a look-up to cost as much as a hundred users, and would read all of them.
  if (holders <= MAX_COUNTED && kind) return holders * USERS_PER_LOOKUP < all ? 'holders first' : 'role';
  if (holders <= MAX_COUNTED || Object.keys(rest).length === 0) return 'role';
  // To find those of an unlocked kind, the locked ones are read, and may be many more.
  if (kind && !kind.isUnlocked && Math.max(holders, ofKind) <= MAX_JOINED) return 'role';
  if (kind ? ofKind < holders : await mayBeFew(db, rest)) return 'rest first';
  // Most users have the role, and as many match the rest: enough of both are soon found.
  return holders * 2 > all ? 'role' : 'holders first';
}

/** Returns whether fewer users match than a role with many holders has, as far as it is known. */
async function mayBeFew(db: Db, filter: UserFilter): Promise<boolean> {
  const { search, isActive, verified, status, ...others } = filter;
  if (Object.keys(others).length > 0 || status === 'locked') return true;
  return search !== undefined && !(await isInMany(db, search));
}
