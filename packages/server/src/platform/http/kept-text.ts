// Sends a body as the text that was serialized for an earlier response.
// It must not decide when two responses have the same body.
import type { FastifyReply } from 'fastify';

/** Returns the body as the route's response schema of 200 serializes it: without undeclared fields. */
export const serialized = (reply: FastifyReply, body: Record<string, unknown>): string =>
  reply.getSerializationFunction('200')?.(body) ?? JSON.stringify(body);

/** Sends a text that `serialized` returned. */
export function sendSerialized(reply: FastifyReply, text: string): void {
  reply.header('content-type', 'application/json; charset=utf-8').send(text);
}
