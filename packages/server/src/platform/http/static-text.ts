// Sends small texts that live as long as the process. It must not read a file per request.
import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

export type StaticText = { type: string; text: string; etag: string };

export const createStaticText = (type: string, text: string): StaticText => ({
  type: `${type}; charset=utf-8`,
  text,
  etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`,
});

/** Browsers keep it and ask each time whether it changed: a new version shows at once. */
export function sendStaticText(request: FastifyRequest, reply: FastifyReply, file: StaticText): FastifyReply {
  reply.header('cache-control', 'no-cache').header('etag', file.etag);
  if (knows(request.headers['if-none-match'], file.etag)) return reply.code(304).send();
  return reply.type(file.type).send(file.text);
}

/** RFC 9110, 13.1.2: any of a list, and weak tags as well, which is what proxies that pack an answer make of ours. */
const knows = (ifNoneMatch: string | undefined, etag: string): boolean =>
  (ifNoneMatch?.split(',') ?? []).some((one) => ['*', etag, `W/${etag}`].includes(one.trim()));
