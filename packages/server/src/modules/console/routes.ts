// Serves the console and the self-service pages, which packages/console builds, and the front page for programs.
// The pages contain no secrets and no rules: they call the same operations as every client.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { appPaths, authPaths } from '@castellan/console/paths';
import { knowsTag } from '@castellan/contract/etags';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../platform/errors.ts';
import { accentStyle } from '../../platform/http/accent-color.ts';
import { preferredType, vary } from '../../platform/http/accept.ts';
import type { App } from '../../platform/http/server.ts';
import { openStaticFolder } from '../../platform/http/static-files.ts';
import { createStaticText, type StaticText, sendStaticText, tagOf } from '../../platform/http/static-text.ts';
import type { Logo } from '../../platform/logo.ts';
import { compileTemplate } from '../../platform/mail/text-template.ts';

type ConsoleDeps = {
  settings: {
    serviceName: string;
    appUrl: string | undefined;
    forgotUrl: string | undefined;
    publicUrl: string;
    accentColor: string;
    language: string;
  };
  /** The operator's logo; undefined for ours. */
  logo: Logo | undefined;
  /** How long a mailed link to set a new password works. */
  resetLinkMinutes: number;
  /** The folder of the build, with a slash at the end. By default that of packages/console. */
  built?: URL;
};

const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
const consoleFolder = new URL('.', import.meta.resolve('@castellan/console/dist/app.html'));

/** The operator's accent color, as a style sheet. */
const COLORS = '/brand/colors.css';
/**
 * These files are opened alone only to look at one: as a document, such a picture runs, loads and opens nothing, and is of
 * no origin. Pictures and style sheets inside a page obey the policy of the page.
 */
const BRAND_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; sandbox";
/** As on the sign-in page, in pixels. */
const SIGN_IN_LOGO_HEIGHT = 36;

/** Read anew by each page, so that they have no hash in their names. */
const publicFiles: Readonly<Record<string, string>> = {
  '/theme.js': 'text/javascript',
  '/skeleton.css': 'text/css',
};

export function consoleRoutes(app: App, deps: ConsoleDeps): void {
  const { settings, built = consoleFolder } = deps;
  const forPrograms = createStaticText('application/json', descriptionOf(settings.serviceName));
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

/** Returns null if the console is not built. */
function readBuilt(built: URL, name: string): string | null {
  try {
    return readFileSync(new URL(name, built), 'utf8');
  } catch {
    return null;
  }
}

/** Fills in what the pages know about the service. Their files are below the path of PUBLIC_URL. */
function readPage(
  built: URL,
  file: string,
  url: string,
  { settings, logo, resetLinkMinutes }: ConsoleDeps,
): StaticText | undefined {
  const { serviceName, appUrl, forgotUrl, publicUrl, language } = settings;
  const source = readBuilt(built, file);
  if (source === null) return undefined;
  const basePath = new URL(publicUrl).pathname.replace(/\/$/, '');
  const values = {
    service_name: serviceName,
    // Sections of the page: shown if not empty.
    login: url === '/login' ? 'yes' : '',
    logo: logo ? 'yes' : '',
    logo_width: logo?.ratio ? String(Math.round(SIGN_IN_LOGO_HEIGHT * logo.ratio)) : '',
    own_mark: logo ? '' : 'yes',
    page_settings: JSON.stringify({
      serviceName,
      basePath,
      appUrl: appUrl ?? null,
      forgotUrl: forgotUrl ?? null,
      hasLogo: logo !== undefined,
      logoRatio: logo?.ratio ?? null,
      language,
      resetLinkMinutes,
      version: manifest.version,
    }),
  };
  const page = source.replaceAll(/(src|href)="\.\//g, `$1="${basePath}/`);
  // After the style sheets of the build, which have our own colors.
  const colors = `<link rel="stylesheet" href="${basePath}${COLORS}">`;
  const filled = compileTemplate(page, 'html', Object.keys(values))(values);
  return createStaticText(
    'text/html',
    filled
      .replace('<html lang="en">', `<html lang="${language}">`)
      .replace('</head>', () => `${colors}\n</head>`),
  );
}

const notBuilt = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>The console is not built</title></head>
<body><h1>The console is not built</h1>
<p>Run <code>npm ci &amp;&amp; npm run build</code> where the service is installed, then start it again.
The API works without it.</p></body>
</html>
`;

/** Returns the front page for programs, as JSON. Its URLs are relative. */
const descriptionOf = (serviceName: string): string =>
  JSON.stringify({
    data: {
      service: serviceName,
      api: 'api/v1',
      reference: 'docs',
      openapi: 'docs/openapi.json',
      health: 'health/ready',
    },
    message: `${serviceName}: accounts, sessions and permissions. See the reference.`,
  });
