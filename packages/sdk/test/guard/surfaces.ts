// Every way to ask a guard, on the real frameworks.
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import Fastify from 'fastify';
import { Hono } from 'hono';
import { type Guard, GuardError, type Identity } from '../../src/index.ts';

/** `passed` is the id of the caller that the handler saw. */
export type Outcome = { passed: string } | { status: number; code: string; headers: Headers };
export type Surface = (guard: Guard, authorization: string | undefined) => Promise<Outcome>;

export const PERMISSION = 'orders.read';

async function outcomeOf(response: Response): Promise<Outcome> {
  const body = await response.json();
  return response.status === 200
    ? { passed: body.id }
    : { status: response.status, code: body.code, headers: response.headers };
}

const headersWith = (authorization: string | undefined): Record<string, string> =>
  authorization === undefined ? {} : { authorization };

async function decided(run: () => Promise<string | false>): Promise<Outcome> {
  try {
    const id = await run();
    return id === false ? { status: 403, code: 'permission_denied', headers: new Headers() } : { passed: id };
  } catch (error) {
    if (!(error instanceof GuardError)) throw error;
    return { status: error.status, code: error.code, headers: new Headers() };
  }
}

async function fetchFrom(server: Server, authorization: string | undefined): Promise<Outcome> {
  const { port } = server.address() as AddressInfo;
  try {
    return await outcomeOf(await fetch(`http://127.0.0.1:${port}/`, { headers: headersWith(authorization) }));
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

export const middlewares: Record<string, Surface> = {
  async fastify(guard, authorization) {
    const app = Fastify();
    app.get('/', { onRequest: guard.require(PERMISSION).fastify }, (request) => ({
      id: guard.identityOf(request).id,
    }));
    await app.listen({ port: 0, host: '127.0.0.1' });
    try {
      return await fetchFrom(app.server, authorization);
    } finally {
      await app.close();
    }
  },
  async express(guard, authorization) {
    const app = express();
    app.get('/', guard.require(PERMISSION).express, (request, response) => {
      response.json({ id: guard.identityOf(request).id });
    });
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return fetchFrom(server, authorization);
  },
  async hono(guard, authorization) {
    const app = new Hono();
    app.get('/', guard.require(PERMISSION).hono, (context) =>
      context.json({ id: guard.identityOf(context).id }),
    );
    return outcomeOf(await app.request('/', { headers: headersWith(authorization) }));
  },
  async fetch(guard, authorization) {
    const handler = guard
      .require(PERMISSION)
      .fetch((request: Request) => Response.json({ id: guard.identityOf(request).id }));
    return outcomeOf(
      await handler(new Request('http://orders.example/', { headers: headersWith(authorization) })),
    );
  },
};

const authenticated = (guard: Guard, authorization: string | undefined): Promise<Identity> =>
  guard.authenticate({ headers: headersWith(authorization) });

/** The functions that read a token. */
export const callers: Record<string, Surface> = {
  authenticate: (guard, authorization) => decided(async () => (await authenticated(guard, authorization)).id),
  authenticated: async (guard, authorization) => {
    const handler = guard.authenticated.fetch((request) =>
      Response.json({ id: guard.identityOf(request).id }),
    );
    return outcomeOf(
      await handler(new Request('http://orders.example/', { headers: headersWith(authorization) })),
    );
  },
};

/** The functions that ask about a subject by id. */
export const decisions: Record<string, (guard: Guard, id: string) => Promise<Outcome>> = {
  can: (guard, id) => decided(async () => (await guard.can({ type: 'user', id }, PERMISSION)) && id),
  canAll: (guard, id) =>
    decided(
      async () => (await guard.canAll([{ subject: { type: 'user', id }, permission: PERMISSION }])) && id,
    ),
};
