// The OpenAPI document of all routes registered after it, and the pages that show it.
// It must not repeat by hand what a route declares.
import { readFileSync } from 'node:fs';
import { knowsTag } from '@castellan/contract/etags';
import { completeDocument, FACTS, isDraft, type RouteFacts } from '@castellan/openapi';
import swagger from '@fastify/swagger';
import type { FastifySchema, RouteOptions } from 'fastify';
import { acceptsCoding, vary } from '../platform/http/accept.ts';
import { createStaticText, sendStaticText } from '../platform/http/answers/static-text.ts';
import type { App } from '../platform/http/server/server.ts';
import { conventions } from './conventions.ts';
import { renderErrorCodes } from './error-page.ts';
import { factsOf } from './route-facts.ts';
import { loadViewer } from './viewer.ts';

export type ReferenceOptions = {
  publicUrl: string;
  cookiePrefix: string;
  /** Markdown: what readers must know before the first request. */
  description: string;
  /** Tag → one sentence. */
  tags: Readonly<Record<string, string>>;
};

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const assetOf = (name: string): string => readFileSync(new URL(`./${name}`, import.meta.url), 'utf8');

/** Adds /docs. After `app.ready()`, `app.swagger()` returns the document. */
export async function addReference(app: App, options: ReferenceOptions): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Castellan', version: manifest.version, description: options.description },
      servers: [
        {
          url: '{public_url}',
          description: 'This service',
          variables: { public_url: { default: options.publicUrl, description: 'The setting PUBLIC_URL.' } },
        },
      ],
    },
    stripBasePath: false,
    transform: ({ schema, url, route }) => ({ schema: draftOf(route, schema), url }),
    transformObject: (given) => {
      if (!('openapiObject' in given) || !isDraft(given.openapiObject))
        throw new TypeError('@fastify/swagger did not make a draft of OpenAPI 3');
      return completeDocument(given.openapiObject, {
        ...conventions,
        cookiePrefix: options.cookiePrefix,
        tags: options.tags,
      });
    },
  });
  addPages(app);
}

/** Leaves paths and parameters to the plugin, and passes the rest as facts, which the plugin would simplify. */
function draftOf(
  route: RouteOptions,
  schema: FastifySchema | undefined,
): FastifySchema & { [FACTS]: RouteFacts } {
  const { hide, params, querystring } = schema ?? {};
  return {
    ...(hide ? { hide } : {}),
    ...(params ? { params } : {}),
    ...(querystring ? { querystring } : {}),
    [FACTS]: factsOf(route, schema ?? {}),
  };
}

function addPages(app: App): void {
  // Created at the first request, because the routes in the document are registered later.
  const files: Record<string, { type: string; make: () => string }> = {
    '/docs': { type: 'text/html', make: () => assetOf('reference.html') },
    '/docs/errors': { type: 'text/html', make: renderErrorCodes },
    '/docs/openapi.json': { type: 'application/json', make: () => JSON.stringify(app.swagger()) },
    '/docs/reference.css': { type: 'text/css', make: () => assetOf('reference.css') },
    '/docs/reference.js': { type: 'text/javascript', make: () => assetOf('reference.js') },
    '/docs/start.js': { type: 'text/javascript', make: () => assetOf('start.js') },
  };
  for (const [url, { type, make }] of Object.entries(files)) {
    let made: ReturnType<typeof createStaticText> | undefined;
    app.route({
      method: 'GET',
      url,
      config: { access: 'public' },
      schema: { hide: true },
      handler: (request, reply) => {
        made ??= createStaticText(type, make());
        return sendStaticText(request, reply, made);
      },
    });
  }
  addViewer(app);
}

function addViewer(app: App): void {
  app.route({
    method: 'GET',
    url: '/docs/viewer.js',
    config: { access: 'public' },
    schema: { hide: true },
    handler: async (request, reply) => {
      const { script, gzipped } = await loadViewer();
      const packed = acceptsCoding('gzip', request.headers['accept-encoding']);
      // Each coding has its own tag, so that a cache never gets a 304 for the other coding.
      const { body, etag } = packed ? gzipped : script;
      vary(reply, 'accept-encoding');
      reply.header('cache-control', 'no-cache').header('etag', etag);
      if (knowsTag(request.headers['if-none-match'], etag)) return reply.code(304).send();
      if (packed) reply.header('content-encoding', 'gzip');
      return reply.type('text/javascript; charset=utf-8').send(body);
    },
  });
}
