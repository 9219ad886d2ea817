// The OpenAPI document of everything that is registered after it, and the pages for people that show it.
// It must not describe anything by hand that a route declares.
import { readFileSync } from 'node:fs';
import swagger from '@fastify/swagger';
import type { FastifySchema, RouteOptions } from 'fastify';
import { completeDocument, FACTS } from './reference/document.ts';
import { renderErrorCodes } from './reference/error-page.ts';
import type { OpenApiDocument } from './reference/openapi.ts';
import { renderReference } from './reference/page.ts';
import { factsOf } from './reference/route-facts.ts';
import type { App } from './server.ts';
import { createStaticText, sendStaticText } from './static-text.ts';

export type ReferenceOptions = {
  publicUrl: string;
  /** Markdown: what a reader must know before the first request. */
  description: string;
  /** Tag → one sentence. */
  tags: Readonly<Record<string, string>>;
};

const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
const stylesheet = readFileSync(new URL('./reference/reference.css', import.meta.url), 'utf8');

/** After this and `app.ready()`, `app.swagger()` answers the document; /docs shows it. */
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
    transformObject: (given) =>
      completeDocument((given as unknown as { openapiObject: never }).openapiObject, options.tags) as never,
  });
  addPages(app);
}

/** Paths and parameters are the plugin's work; the rest travels as facts, because it would be simplified on the way. */
function draftOf(route: RouteOptions, schema: FastifySchema | undefined): FastifySchema {
  const { hide, params, querystring } = schema ?? {};
  return {
    ...(hide ? { hide } : {}),
    ...(params ? { params } : {}),
    ...(querystring ? { querystring } : {}),
    [FACTS]: factsOf(route, schema ?? {}),
  } as FastifySchema;
}

function addPages(app: App): void {
  const documentOf = () => app.swagger() as unknown as OpenApiDocument;
  // Made at the first request, because the routes that they show are registered later.
  const files: Record<string, { type: string; make: () => string }> = {
    '/docs': { type: 'text/html', make: () => renderReference(documentOf()) },
    '/docs/errors': { type: 'text/html', make: () => renderErrorCodes(documentOf()) },
    '/docs/openapi.json': { type: 'application/json', make: () => JSON.stringify(documentOf()) },
    '/docs/reference.css': { type: 'text/css', make: () => stylesheet },
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
}
