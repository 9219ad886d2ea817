// Requests of applications that wait: pushed ones, those of which a person has to do something, and sign-outs.
// Anyone who knows the id may go on with a request. The database has its hash alone. It must not know what a request means.
import { randomBytes } from 'node:crypto';
import { INTERACTION_ID } from '@castellan/contract/interactions';
import { tokenHash } from '../../../platform/security/jwt.ts';
import type { Db, Row } from '../../../schema/database.ts';
import { addToState, findWaiting, insertRequest, markUsed, type RequestKind } from './store.ts';
import type { WaitingRequest } from './waiting.ts';

export { removeEndedRequests } from './store.ts';

export const lifetimeSeconds: Readonly<Record<RequestKind, number>> = {
  pushed: 90,
  interaction: 30 * 60,
  sign_out: 30 * 60,
};

const ID_BYTES = 32;

/** Returns the hash by which the database knows the id; undefined for a text that is no id. */
export const requestIdHash = (id: string): Buffer | undefined =>
  INTERACTION_ID.test(id) ? tokenHash(id) : undefined;

type NewRequest = {
  kind: RequestKind;
  /** Null: a sign-out that names no application. */
  applicationId: string | null;
  parameters: Record<string, unknown>;
  state?: Record<string, unknown>;
};

/** Keeps a request: a pushed one for 90 s, others for 30 minutes. `id`: 43 characters of base64url, to be told once. */
export async function keepRequest(
  db: Db,
  { kind, applicationId, parameters, state = {} }: NewRequest,
): Promise<{ id: string } & Pick<Row<'application_requests'>, 'created_at' | 'expires_at'>> {
  const id = randomBytes(ID_BYTES).toString('base64url');
  const row = { id_hash: tokenHash(id), kind, application_id: applicationId, parameters, state };
  return { id, ...(await insertRequest(db, row, lifetimeSeconds[kind])) };
}

/** Returns a request; undefined for an id that is unknown, expired, used up or of another kind, without telling which. */
export async function findRequest(
  db: Db,
  kind: RequestKind,
  id: string,
): Promise<WaitingRequest | undefined> {
  const idHash = requestIdHash(id);
  return idHash && findWaiting(db, kind, idHash);
}

/** Adds to the state of a request, one value for each name. Returns whether it was still waiting. */
export async function noteInRequest(
  db: Db,
  kind: RequestKind,
  id: string,
  state: Record<string, unknown>,
): Promise<boolean> {
  const idHash = requestIdHash(id);
  return idHash !== undefined && addToState(db, kind, idHash, state);
}

/** Uses a request up and returns it; undefined as `findRequest`. Of parallel calls, on any instance, one gets it. */
export async function useRequest(db: Db, kind: RequestKind, id: string): Promise<WaitingRequest | undefined> {
  const idHash = requestIdHash(id);
  return idHash && markUsed(db, kind, idHash);
}
