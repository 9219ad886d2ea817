// Loads the subjects of decisions by reference, with the graph that belongs to them. It caches nothing.
// It must not decide anything (decision.ts), nor say who may ask.
import type { Pool } from 'pg';
import { createBatchedLookup } from '../../platform/db/batched.ts';
import { UUID } from '../../platform/ids.ts';
import { canonicalEmail } from '../../platform/security/email.ts';
import type { Principal } from './caller.ts';
import type { Candidate } from './decision.ts';
import { type Graph, type GraphSource, withGraph } from './graph/graph.ts';
import {
  type FoundSubjects,
  findDetails,
  findSubjects,
  type SubjectDetails,
  type SubjectKey,
  type SubjectRow,
} from './subject-store.ts';

/**
 * Names a subject. `id` of a `user` is a UUID, an email or an external id; of a `service_account` a UUID, a name or an external id; of a
 * `role` a UUID or a name. Any other type names nobody.
 */
export type SubjectReference = { type: string; id: string };

/** A user, a service account or a role. Its id is in lower case. */
export type KnownSubject = Candidate & Pick<SubjectRow, 'type' | 'id'>;

export type LoadedSubjects = {
  /** In the order of the references; undefined where nobody has the reference. */
  subjects: readonly (KnownSubject | undefined)[];
  /** See `withGraph`. */
  graph: Graph;
};

export type SubjectSource = {
  /**
   * Returns the subjects of the references, all from one snapshot, and the graph for it. Needs one statement for any
   * number of references. Short lists that arrive in one tick share statements.
   */
  load(references: readonly SubjectReference[]): Promise<LoadedSubjects>;
  /** Returns the fields that present the subject; undefined if it has been deleted since it was loaded. */
  detailsOf(subject: Pick<KnownSubject, 'type' | 'id'>): Promise<SubjectDetails | undefined>;
};

// Longer lists use a separate statement on the connections for requests, so that they do not delay the lookups of
// tokens. 256 lists of 4 are as much work as one evaluation of a thousand subjects.
const SHARED_LIST = 4;

export function createSubjectSource(deps: {
  reservedPool: Pool;
  pool: Pool;
  graphSource: GraphSource;
}): SubjectSource {
  const findTogether = createBatchedLookup(
    deps.reservedPool.options.max,
    (lists: readonly (readonly SubjectKey[])[]) => findLists(deps.reservedPool, lists),
  );

  async function findList(keys: readonly SubjectKey[]): Promise<FoundSubjects> {
    const found = await findTogether(keys);
    if (!found) throw new Error('a lookup of subjects has no result');
    return found;
  }

  return {
    async load(references) {
      const keys = references.map(keyOf);
      const { found, graph } = await withGraph(deps.graphSource, () =>
        keys.length > SHARED_LIST ? findSubjects(deps.pool, keys) : findList(keys),
      );
      return { subjects: found.subjects, graph };
    },
    detailsOf: (subject) => findDetails(deps.pool, subject),
  };
}

/** Finds the subjects of all lists with one statement. */
async function findLists(pool: Pool, lists: readonly (readonly SubjectKey[])[]): Promise<FoundSubjects[]> {
  const { subjects, stamp } = await findSubjects(pool, lists.flat());
  let next = 0;
  return lists.map((list) => {
    const start = next;
    next += list.length;
    return { subjects: subjects.slice(start, next), stamp };
  });
}

/** Returns the key of a reference. A value that looks like a UUID is always an id, and one that looks like an email always an email. */
function keyOf({ type, id }: SubjectReference): SubjectKey {
  if (UUID.test(id)) return { type, id, name: null, externalId: null };
  const text = id.trim().normalize('NFC');
  if (type !== 'user') return { type, id: null, name: text, externalId: text };
  const email = canonicalEmail(id);
  return { type, id: null, name: email, externalId: email === null ? text : null };
}

/** Returns whether the subject is the caller. */
export const isOneself = (principal: Principal, subject: KnownSubject | undefined): boolean =>
  subject !== undefined && subject.type === principal.type && subject.id === principal.id;

/**
 * Returns the subject as this call may act for it: the account of a narrowed API key has, when it asks about itself,
 * only the permissions of the key.
 */
export const asAskedBy = (principal: Principal, subject: KnownSubject): KnownSubject =>
  isOneself(principal, subject) && principal.subject.narrowed_to
    ? { ...subject, narrowed_to: principal.subject.narrowed_to }
    : subject;
