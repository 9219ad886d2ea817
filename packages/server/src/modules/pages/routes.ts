// Serves the HTML pages: the front page, and the pages of mailed links (verify the email, set a new password, request
// the reset mail). The pages contain no secrets and no rules: they call the same operations as every client.
import { readFileSync } from 'node:fs';
import { duration } from '../../platform/counted.ts';
import { AppError } from '../../platform/errors.ts';
import { preferredType, varyByAccept } from '../../platform/http/accept.ts';
import type { App } from '../../platform/http/server.ts';
import { createStaticText, type StaticText, sendStaticText } from '../../platform/http/static-text.ts';
import { compileTemplate } from '../../platform/mail/text-template.ts';

/** A file in this folder, and its content type. */
type PageFile = readonly [name: string, type: string];

/** Path of the URL → file. */
const files: Readonly<Record<string, PageFile>> = {
  '/': ['home.html', 'text/html'],
  '/verify-email': ['verify-email.html', 'text/html'],
  '/reset': ['reset.html', 'text/html'],
  '/forgot': ['forgot.html', 'text/html'],
  '/pages/pages.css': ['pages.css', 'text/css'],
  '/pages/page.js': ['page.js', 'text/javascript'],
  '/pages/verify-email.js': ['verify-email.js', 'text/javascript'],
  '/pages/reset.js': ['reset.js', 'text/javascript'],
  '/pages/forgot.js': ['forgot.js', 'text/javascript'],
};

type PageSettings = {
  serviceName: string;
  appUrl: string | undefined;
  forgotUrl: string | undefined;
  passwordMinLength: number;
};
type PageDeps = { settings: PageSettings; resetLinkMinutes: number };

export function pageRoutes(app: App, deps: PageDeps): void {
  const { settings } = deps;
  const forPrograms = createStaticText('application/json', descriptionOf(settings));
  for (const [url, file] of Object.entries(files)) {
    const page = readPage(file, deps);
    app.route({
      method: 'GET',
      url,
      config: { access: 'public' },
      schema: { hide: true },
      handler: (request, reply) => {
        if (url !== '/') {
          // The URL of such a page may contain a token, which no other site may see.
          reply.header('referrer-policy', 'no-referrer');
          return sendStaticText(request, reply, page);
        }
        // RFC 9112, 3.2.4: the asterisk names the server, and only OPTIONS may request it.
        if (request.url === '*') throw new AppError('route_not_found');
        // Caches keep the two apart by Accept. Their ETags differ too, so that one never revalidates the other.
        varyByAccept(reply);
        const type = preferredType(['application/json', 'text/html'], request.headers.accept);
        return sendStaticText(request, reply, type === 'text/html' ? page : forPrograms);
      },
    });
  }
}

function readPage([name, type]: PageFile, { settings, resetLinkMinutes }: PageDeps): StaticText {
  const source = readFileSync(new URL(`./${name}`, import.meta.url), 'utf8');
  if (type !== 'text/html') return createStaticText(type, source);
  const values = {
    service_name: settings.serviceName,
    app_url: settings.appUrl ?? '',
    forgot_url: settings.forgotUrl ?? 'forgot',
    password_min_length: String(settings.passwordMinLength),
    reset_lifetime: duration(resetLinkMinutes),
  };
  return createStaticText(type, compileTemplate(source, 'html', Object.keys(values))(values));
}

/** Returns the front page for programs, as JSON. Its URLs are relative. */
const descriptionOf = ({ serviceName }: PageSettings): string =>
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
