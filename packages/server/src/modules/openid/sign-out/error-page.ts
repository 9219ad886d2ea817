// The page for a browser that an application sent with a request that cannot be answered. It leads nowhere.
import type { FastifyReply, FastifyRequest } from 'fastify';

const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** Sends 400 with one sentence and the request id. */
export const sendErrorPage = (request: FastifyRequest, reply: FastifyReply, text: string): FastifyReply =>
  reply
    .code(400)
    .header('cache-control', 'no-store')
    .header('referrer-policy', 'no-referrer')
    .type('text/html; charset=utf-8')
    .send(
      `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Request refused</title><h1>The application sent a request that cannot be answered</h1>
<p>${escaped(text)}</p><p>Nobody was signed out. Request ${escaped(request.id)}</p></html>`,
    );
