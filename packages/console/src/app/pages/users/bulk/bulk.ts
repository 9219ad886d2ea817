// Acts on many users: who is left out and why, and the requests, each of which changes all of its users or none.
import type { AccessImpact, AccessPreview, CastellanError, ListedUser } from '@castellan/sdk';

export type BulkAct = 'addRoles' | 'removeRoles' | 'activate' | 'deactivate' | 'endSessions';
export type SkipReason = 'self' | 'superuser' | 'already';

export type ReversibleAct = Exclude<BulkAct, 'endSessions'>;

export const isReversible = (act: BulkAct): act is ReversibleAct => act !== 'endSessions';
export const needsRoles = (act: BulkAct): boolean => act === 'addRoles' || act === 'removeRoles';

/** So many users go into one request. The service takes up to 1,000. */
const CHUNK = 500;

type Context = { act: BulkAct; self: { id: string; is_superuser: boolean }; roleIds: readonly string[] };

/** Returns why the user is left out; null if the act applies to them. */
export function skipReason(user: ListedUser, { act, self, roleIds }: Context): SkipReason | null {
  const locksOut = act === 'deactivate' || act === 'endSessions' || act === 'removeRoles';
  if (locksOut && user.id === self.id) return 'self';
  if (user.is_superuser && !self.is_superuser) return 'superuser';
  const holds = (id: string): boolean => user.roles.some((role) => role.id === id);
  const isDone = {
    activate: () => user.is_active,
    deactivate: () => !user.is_active,
    endSessions: () => user.activity?.live_sessions === 0,
    addRoles: () => roleIds.length > 0 && roleIds.every(holds),
    removeRoles: () => roleIds.length > 0 && !roleIds.some(holds),
  }[act]();
  return isDone ? 'already' : null;
}

/** Divides the users into those that the act changes and those that are left out. */
export function divide(
  users: readonly ListedUser[],
  context: Context,
): { changing: ListedUser[]; skipped: Map<SkipReason, ListedUser[]> } {
  const changing: ListedUser[] = [];
  const skipped = new Map<SkipReason, ListedUser[]>();
  for (const user of users) {
    const reason = skipReason(user, context);
    if (reason) skipped.set(reason, [...(skipped.get(reason) ?? []), user]);
    else changing.push(user);
  }
  return { changing, skipped };
}

export const chunksOf = <T>(all: readonly T[], size = CHUNK): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  );

type Count = { permission: string; subjects: number };

function sum(all: readonly (readonly Count[])[]): Count[] {
  const counts = new Map<string, number>();
  for (const { permission, subjects } of all.flat())
    counts.set(permission, (counts.get(permission) ?? 0) + subjects);
  return [...counts].map(([permission, subjects]) => ({ permission, subjects }));
}

export const nothingPreviewed: AccessPreview = { dry_run: true, would_be_refused: null, impact: null };

/** Joins the previews of requests for different users: each user is in one of them, so numbers add up. */
export function joinPreviews(previews: readonly AccessPreview[]): AccessPreview {
  const refused = previews.find((one) => one.would_be_refused !== null);
  const impacts = previews.flatMap(({ impact }) => (impact ? [impact] : []));
  const total = (of: (impact: AccessImpact) => number): number =>
    impacts.reduce((result, impact) => result + of(impact), 0);
  if (refused) return refused;
  return {
    dry_run: true,
    would_be_refused: null,
    impact: {
      gaining: total(({ gaining }) => gaining),
      losing: total(({ losing }) => losing),
      gained: sum(impacts.map(({ gained }) => gained)),
      lost: sum(impacts.map(({ lost }) => lost)),
      subjects: impacts
        .flatMap(({ subjects }) => subjects)
        .toSorted((one, other) => one.name.localeCompare(other.name)),
      more: total(({ more }) => more),
      inactive: total(({ inactive }) => inactive),
    },
  };
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;

/** Returns the users that a refusal names, with the sentence about each. `ids` are those of the request, in order. */
export function namedIn(fields: CastellanError['fields'], ids: readonly string[]): Map<string, string> {
  const named = new Map<string, string>();
  for (const { field, message } of fields) {
    const index = /\d+/.exec(field)?.[0];
    const id =
      UUID.exec(message)?.[0].toLowerCase() ?? (index === undefined ? undefined : ids[Number(index)]);
    if (id && ids.includes(id) && !named.has(id)) named.set(id, message.replace(/ \(user [0-9a-f-]+\)/, ''));
  }
  return named;
}

export type BulkResult = {
  done: ListedUser[];
  /** Those of a request that got no answer: it may have been carried out. To repeat it changes nothing then. */
  unknown: ListedUser[];
  /** Those who were not changed. */
  undone: ListedUser[];
  /** The ids in the refused request, in order. */
  refused: readonly string[];
  /** Why the run ended early; null if it was stopped, or reached its end. */
  error: unknown;
};

/** Whether an error of the client leaves open what the service has done. */
const isUnanswered = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  (error.code === 'network_error' ||
    error.code === 'timeout' ||
    ('status' in error && Number(error.status) >= 500));

type RunOptions = {
  /** Stops the run between two requests. */
  signal?: AbortSignal;
  /** Gets the number of users done so far. */
  onProgress?: (done: number) => void;
};

/**
 * Sends one request after another and stops at the first failure. A refusal changes nobody of its request; a request without
 * an answer may have changed all of them.
 */
export async function runInChunks(
  chunks: readonly (readonly ListedUser[])[],
  send: (users: readonly ListedUser[]) => Promise<unknown>,
  { signal, onProgress }: RunOptions = {},
): Promise<BulkResult> {
  const done: ListedUser[] = [];
  const rest = (index: number): ListedUser[] => chunks.slice(index).flat();
  for (const [index, chunk] of chunks.entries()) {
    if (signal?.aborted) return { done, unknown: [], undone: rest(index), refused: [], error: null };
    try {
      await send(chunk);
    } catch (error) {
      if (isUnanswered(error))
        return { done, unknown: [...chunk], undone: rest(index + 1), refused: [], error };
      return { done, unknown: [], undone: rest(index), refused: chunk.map(({ id }) => id), error };
    }
    done.push(...chunk);
    onProgress?.(done.length);
  }
  return { done, unknown: [], undone: [], refused: [], error: null };
}
