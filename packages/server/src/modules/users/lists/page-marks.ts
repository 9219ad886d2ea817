// Renews the marks by which pages of users are found.
// A periodic job; lists are right without it, and slower.
import { inSnapshot } from '../../../platform/db/transaction.ts';
import type { Db, Tx } from '../../../schema/database.ts';
import {
  addChanges,
  countChanges,
  deleteOldMarks,
  isGapWide,
  lockMarks,
  shrinkChanges,
  splitWidestGap,
} from './page-marks-store.ts';
import { userOrders } from './user-orders.ts';

// Users between two marks. A page skips at most twice as many, which takes about a millisecond.
const STEP = 2_000;
// Work of one transaction: about half a second.
const limits = { step: STEP, stretch: 50_000 };
// Fewer changes are not worth rewriting the marks.
const MIN_CHANGES = 200;

/**
 * Works for at most `budgetMs`, or without a limit; the next call continues. Returns whether nothing is left. Leaves fewer than
 * `minChanges`.
 */
export async function renewUserMarks(
  db: Db,
  budgetMs = Number.POSITIVE_INFINITY,
  minChanges = MIN_CHANGES,
): Promise<boolean> {
  const deadline = performance.now() + budgetMs;
  while (performance.now() < deadline)
    if (!(await inSnapshot(db, (tx) => renewSome(tx, minChanges)))) {
      await shrinkChanges(db);
      return true;
    }
  return false;
}

/**
 * Removes what the marks and the log of changes keep of deleted users, former emails and former names. New marks take the place
 * of those that are missed. Works for at most `budgetMs`; the next call continues.
 */
export async function forgetFormerUsers(db: Db, budgetMs: number): Promise<void> {
  await inSnapshot(db, async (tx) => {
    if (await lockMarks(tx)) await deleteOldMarks(tx);
  });
  await renewUserMarks(db, budgetMs, 1);
}

/** Many changes may have come in before these few, and their users may be without marks. */
async function isAnyGapWide(tx: Tx): Promise<boolean> {
  for (const order of userOrders) if (await isGapWide(tx, order, limits.step)) return true;
  return false;
}

/** Returns whether something is left. */
async function renewSome(tx: Tx, minChanges: number): Promise<boolean> {
  if (!(await lockMarks(tx))) return false;
  const changes = await countChanges(tx);
  if (changes > 0) {
    if (changes < minChanges && !(await isAnyGapWide(tx))) return false;
    await addChanges(tx, limits.stretch);
    if (changes > limits.stretch) return true;
  }
  let isLeft = false;
  for (const order of userOrders) if (await splitWidestGap(tx, order, limits)) isLeft = true;
  return isLeft;
}
