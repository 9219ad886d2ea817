// Sends small texts that are kept in memory. It must not read a file per request.
import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

export type StaticText = { type: string; text: string; etag: string };

/** Returns a strong ETag of the content. */
export const tagOf = (content: string | Buffer): string =>
  `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;

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

const withoutWeakness = (etag: string): string => etag.trim().replace(/^W\//, '');

/** Whether If-None-Match has the tag (RFC 9110, 13.1.2). Weak tags match too: proxies that compress make ours weak. */
export const knowsTag = (ifNoneMatch: string | undefined, etag: string): boolean =>
  (ifNoneMatch?.split(',') ?? []).some((one) => ['*', withoutWeakness(etag)].includes(withoutWeakness(one)));
