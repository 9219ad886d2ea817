// Sends a body as the text that was serialized for an earlier response.
// It must not decide when two responses have the same body.
import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { knowsTag } from './static-text.ts';

/** Returns the body as the route's response schema of 200 serializes it: without undeclared fields. */
export const serialized = (reply: FastifyReply, body: Record<string, unknown>): string =>
  reply.getSerializationFunction('200')?.(body) ?? JSON.stringify(body);

/** Sends a text that `serialized` returned, or 304 if If-None-Match has the ETag. */
export function sendUnlessKnown(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  etag: string,
  text: () => string,
): void {
  reply.header('etag', etag);
  if (knowsTag(headers['if-none-match'], etag)) reply.code(304).send();
  else sendSerialized(reply, text());
}

/** Sends a text that `serialized` returned, its bytes, or a stream of them. */
export const sendSerialized = (reply: FastifyReply, text: string | Buffer | Readable): FastifyReply =>
  reply.header('content-type', 'application/json; charset=utf-8').send(text);
