// Judges the requests of somebody who acts as another user: whether they still may, and whether the user alone does such a thing.
// It must not decide by anything that a request says of itself.
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../../platform/errors.ts';
import { isForTheUserAlone } from '../../../platform/http/own-account.ts';
import type { PersonPrincipal } from '../caller.ts';
import { mayActAs } from '../effective.ts';
import type { Graph } from '../graph/graph.ts';

/**
 * Marks the request with who acts as its caller, if anybody. Throws `token_revoked` (401) if they no longer may, and `acting_as`
 * (403) for what is the user's own.
 */
export function requireMayAct(
  request: FastifyRequest,
  { actor, subject }: PersonPrincipal,
  graph: Graph,
): void {
  if (!actor) return;
  request.client.actedById = actor.id;
  if (!mayActAs(graph, actor, subject)) throw new AppError('token_revoked');
  const { method, routeOptions } = request;
  const { url = '', config } = routeOptions;
  if (isForTheUserAlone({ method, url, access: config.access ?? 'authenticated' }))
    throw new AppError('acting_as');
}
