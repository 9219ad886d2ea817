// The pages that mailed links open: confirm an address, set a new password, ask for the mail that lets one.
// They hold no secret and decide nothing: a page calls the same operations as every other client.
import { readFileSync } from 'node:fs';
import type { App } from '../../platform/http/server.ts';
import { createStaticText, sendStaticText } from '../../platform/http/static-text.ts';

/** Address → file beside this one. */
const files: Readonly<Record<string, string>> = {
  '/verify-email': 'verify-email.html',
  '/reset': 'reset.html',
  '/forgot': 'forgot.html',
  '/pages/pages.css': 'pages.css',
  '/pages/page.js': 'page.js',
  '/pages/verify-email.js': 'verify-email.js',
  '/pages/reset.js': 'reset.js',
  '/pages/forgot.js': 'forgot.js',
};
const types: Readonly<Record<string, string>> = {
  html: 'text/html',
  css: 'text/css',
  js: 'text/javascript',
};

export function pageRoutes(app: App, deps: { settings: { passwordMinLength: number } }): void {
  for (const [url, name] of Object.entries(files)) {
    const text = readFileSync(new URL(`./${name}`, import.meta.url), 'utf8').replaceAll(
      '{{passwordMinLength}}',
      String(deps.settings.passwordMinLength),
    );
    const file = createStaticText(types[name.split('.').at(-1) as string] as string, text);
    app.route({
      method: 'GET',
      url,
      config: { access: 'public' },
      schema: { hide: true },
      handler: (request, reply) => {
        // A page that was opened with a token tells nobody where its visitor came from.
        reply.header('referrer-policy', 'no-referrer');
        return sendStaticText(request, reply, file);
      },
    });
  }
}
