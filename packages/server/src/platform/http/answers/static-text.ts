// Sends small texts that are kept in memory. It must not read a file per request.
import { createHash } from 'node:crypto';
import { knowsTag } from '@castellan/contract/etags';
import type { FastifyReply, FastifyRequest } from 'fastify';

export type StaticText = { type: string; text: string; etag: string };

/** Returns a strong ETag of the content. It begins with a letter, so that none reads as the version of a record. */
export const tagOf = (content: string | Buffer): string =>
  `"h${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;

export const createStaticText = (type: string, text: string): StaticText => ({
  type: `${type}; charset=utf-8`,
  text,
  etag: tagOf(text),
});

/**
 * Sends the text, or 304 if the client has it. Browsers revalidate it each time, so that a new version shows at once.
 */
export function sendStaticText(request: FastifyRequest, reply: FastifyReply, file: StaticText): FastifyReply {
  reply.header('cache-control', 'no-cache').header('etag', file.etag);
  if (knowsTag(request.headers['if-none-match'], file.etag)) return reply.code(304).send();
  return reply.type(file.type).send(file.text);
}
