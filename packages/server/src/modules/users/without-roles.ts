// Keeps the list of users without roles complete and its pages quick. A periodic job; lists are right without it, and slower.
import { inSnapshot } from '../../platform/db/transaction.ts';
import type { Db, Tx } from '../../schema/database.ts';
import { shrinkChanges } from './marks-store.ts';
import { userOrders } from './user-orders.ts';
import {
  addWithoutRolesChanges,
  countWithoutRolesChanges,
  isWithoutRolesGapWide,
  lockWithoutRolesMarks,
  splitWidestGap,
} from './without-roles-marks-store.ts';
import { listMore } from './without-roles-store.ts';

// As the marks of all users (marks.ts).
const limits = { step: 2_000, stretch: 50_000 };

/**
 * Works for at most `budgetMs`, or without a limit; the next call continues. Returns whether nothing is left. Leaves fewer than
 * `minChanges`.
 */
export async function renewWithoutRoles(
  db: Db,
  budgetMs = Number.POSITIVE_INFINITY,
  minChanges = 200,
): Promise<boolean> {
  const deadline = performance.now() + budgetMs;
  const isLate = (): boolean => performance.now() >= deadline;
  while (await listMore(db)) if (isLate()) return false;
  while (await inSnapshot(db, (tx) => renewSome(tx, minChanges))) if (isLate()) return false;
  await shrinkChanges(db, 'without_roles_changes');
  return true;
}

/** Returns whether something is left. */
async function renewSome(tx: Tx, minChanges: number): Promise<boolean> {
  if (!(await lockWithoutRolesMarks(tx))) return false;
  const changes = await countWithoutRolesChanges(tx);
  if (changes > 0) {
    if (changes < minChanges && !(await isAnyGapWide(tx))) return false;
    await addWithoutRolesChanges(tx, limits.stretch);
    if (changes > limits.stretch) return true;
  }
  let isLeft = false;
  for (const order of userOrders) if (await splitWidestGap(tx, order, limits)) isLeft = true;
  return isLeft;
}

async function isAnyGapWide(tx: Tx): Promise<boolean> {
  for (const order of userOrders) if (await isWithoutRolesGapWide(tx, order, limits.step)) return true;
  return false;
}
