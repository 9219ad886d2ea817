// Serves the console and the self-service pages, which packages/console builds, and the front page for programs.
// The pages contain no secrets and no rules: they call the same operations as every client.
import { fileURLToPath } from 'node:url';
import { appPaths, authPaths } from '@castellan/console/paths';
import { knowsTag } from '@castellan/contract/etags';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../platform/errors.ts';
import { preferredType, vary } from '../../platform/http/accept.ts';
import { openStaticFolder } from '../../platform/http/answers/static-files.ts';
import {
  createStaticText,
  type StaticText,
  sendStaticText,
  tagOf,
} from '../../platform/http/answers/static-text.ts';
import type { App } from '../../platform/http/server/server.ts';
import { accentStyle } from './accent-color.ts';
import type { Logo } from './logo.ts';
import { COLORS, type ConsoleDeps, consoleFolder, notBuilt, readBuilt, readPage } from './pages.ts';

/**
 * These files are opened alone only to look at one: as a document, such a picture runs, loads and opens nothing, and is of
 * no origin. Pictures and style sheets inside a page obey the policy of the page.
 */
const BRAND_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; sandbox";

/** Read anew by each page, so that they have no hash in their names. */
const publicFiles: Readonly<Record<string, string>> = {
  '/theme.js': 'text/javascript',
  '/skeleton.css': 'text/css',
};

export function consoleRoutes(app: App, deps: ConsoleDeps): void {
  const { settings, built = consoleFolder } = deps;
  const forPrograms = createStaticText('application/json', descriptionOf(settings));
  const entries = { 'auth.html': authPaths, 'app.html': appPaths };
  for (const [file, paths] of Object.entries(entries))
    for (const url of paths) {
      let page: StaticText | undefined;
      app.route({
        method: 'GET',
        url,
        config: { access: 'public' },
        schema: { hide: true },
        handler: (request, reply) => {
          // RFC 9112, 3.2.4: the asterisk names the server, and only OPTIONS may request it.
          if (request.url === '*') throw new AppError('route_not_found');
          if (url === '/') {
            // Caches keep the two apart by Accept. Their ETags differ too, so that one never revalidates the other.
            vary(reply, 'accept');
            const type = preferredType(['application/json', 'text/html'], request.headers.accept);
            if (type !== 'text/html') return sendStaticText(request, reply, forPrograms);
          }
          page ??= readPage(built, file, url, deps);
          // The URL of a page may contain the token of a mailed link, which no other site may see.
          reply.header('referrer-policy', 'no-referrer');
          if (!page) return reply.code(503).type('text/html; charset=utf-8').send(notBuilt);
          return sendStaticText(request, reply, page);
        },
      });
    }
  // https://w3c.github.io/webappsec-change-password-url: where password managers lead people.
  app.route({
    method: 'GET',
    url: '/.well-known/change-password',
    config: { access: 'public' },
    schema: { hide: true },
    handler: (_request, reply) => reply.redirect(`${settings.basePath}/account`, 302),
  });
  addFiles(app, built);
  addBrand(app, built, deps);
}

function addFiles(app: App, built: URL): void {
  const assets = openStaticFolder(fileURLToPath(new URL('assets/', built)));
  app.route<{ Params: { file: string } }>({
    method: 'GET',
    url: '/assets/:file',
    config: { access: 'public' },
    schema: { hide: true },
    handler: (request, reply) => assets.send(request, reply, request.params.file),
  });
  for (const [url, type] of Object.entries(publicFiles)) {
    let file: StaticText | undefined;
    app.route({
      method: 'GET',
      url,
      config: { access: 'public' },
      schema: { hide: true },
      handler: (request, reply) => {
        const text = file ? null : readBuilt(built, url.slice(1));
        if (text !== null) file = createStaticText(type, text);
        if (!file) throw new AppError('route_not_found');
        return sendStaticText(request, reply, file);
      },
    });
  }
}

/** The operator's logo, also as the icon of browser tabs; without one, our icon. */
function addBrand(app: App, built: URL, { logo, settings }: ConsoleDeps): void {
  const colors = createStaticText('text/css', accentStyle(settings.accentColor).css);
  app.route({
    method: 'GET',
    url: COLORS,
    config: { access: 'public' },
    schema: { hide: true },
    handler: (request, reply) =>
      sendStaticText(request, reply.header('content-security-policy', BRAND_POLICY), colors),
  });
  for (const url of ['/brand/logo', '/brand/icon']) {
    let file: StaticText | undefined;
    app.route({
      method: 'GET',
      url,
      config: { access: 'public' },
      schema: { hide: true },
      handler: (request, reply) => {
        reply.header('content-security-policy', BRAND_POLICY);
        if (logo) return sendLogo(request, reply, logo);
        const text = url === '/brand/icon' && !file ? readBuilt(built, 'icon.svg') : null;
        if (text !== null) file = createStaticText('image/svg+xml', text);
        if (!file) throw new AppError('route_not_found');
        return sendStaticText(request, reply, file);
      },
    });
  }
}

function sendLogo(request: FastifyRequest, reply: FastifyReply, { bytes, contentType }: Logo): FastifyReply {
  const etag = tagOf(bytes);
  reply.header('cache-control', 'no-cache').header('etag', etag);
  if (knowsTag(request.headers['if-none-match'], etag)) return reply.code(304).send();
  return reply.type(contentType).send(bytes);
}

/**
 * Returns the front page for programs, as JSON. Its URLs are relative; below a path they begin with it, because PUBLIC_URL has no
 * slash at its end.
 */
function descriptionOf({ serviceName, basePath }: ConsoleDeps['settings']): string {
  const base = basePath && `${basePath}/`;
  return JSON.stringify({
    data: {
      service: serviceName,
      api: `${base}api/v1`,
      reference: `${base}docs`,
      openapi: `${base}docs/openapi.json`,
      health: `${base}health/ready`,
    },
    message: `${serviceName}: accounts, sessions and permissions. See the reference.`,
  });
}
