// Sends a body as the text that was serialized for an earlier response.
// It must not decide when two responses have the same body.
import type { Readable } from 'node:stream';
import { knowsTag } from '@castellan/contract/etags';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Returns the body as the route's response schema of 200 serializes it: without undeclared fields. */
export const serialized = (reply: FastifyReply, body: Record<string, unknown>): string =>
  reply.getSerializationFunction('200')?.(body) ?? JSON.stringify(body);

const LIST = '"data":[';
// Writing as many characters takes about a millisecond, unless one record has more.
const PART_LENGTH = 256 * 1_024;

/**
 * Yields the text of `serialized` in parts of whole records. A list of megabytes in one piece keeps every other request
 * waiting.
 */
export function* serializedParts(
  reply: FastifyReply,
  body: Record<string, unknown> & { data: readonly unknown[] },
): Generator<string, void> {
  const textOf = (data: readonly unknown[]): string => serialized(reply, { ...body, data });
  // Quotes in other values are escaped, so only the list begins like this.
  const around = textOf([]);
  const begin = around.indexOf(LIST) + LIST.length;
  const tail = around.length - begin;
  let part = around.slice(0, begin);
  for (const [index, record] of body.data.entries()) {
    const text = textOf([record]);
    part += `${index === 0 ? '' : ','}${text.slice(begin, text.length - tail)}`;
    if (part.length < PART_LENGTH) continue;
    yield part;
    part = '';
  }
  yield part + around.slice(begin);
}

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
