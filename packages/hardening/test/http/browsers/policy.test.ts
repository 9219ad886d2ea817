// The content security policy: its directives, that the served pages obey it, and that a real browser enforces it.
// It must not be skipped: it fails without a browser.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { appPaths, authPaths } from '@castellan/console/paths';
import { newVisit, openBrowser } from '@castellan/testing/e2e/browser';
import { ADMIN, eventually, signIn, startTestService } from '@castellan/testing/harness';
import { routesOf } from '@castellan/testing/http/fixture';
import { scenariosOf } from '@castellan/testing/scenario';

const scenario = scenariosOf('http');
const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const routes = (await routesOf(service)).filter(({ method }) => method === 'GET');
/** Anybody may open these; the app leads people who are not signed in to `/login`. */
const openPages = [...authPaths, '/docs', '/docs/errors'];
const pages = [...openPages, ...appPaths];

/** Returns the sources of each directive. Throws for a repeated directive, because browsers use only the first. */
function directivesOf(policy: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const part of policy.split(';')) {
    const [name = '', ...sources] = part.trim().split(/\s+/);
    assert.ok(!found.has(name), `${name} stands twice`);
    found.set(name, sources);
  }
  return found;
}

const policy: Readonly<Record<string, readonly string[]>> = {
  'default-src': ["'self'"],
  'script-src': ["'self'"],
  'style-src': ["'self'", "'unsafe-inline'"],
  // The page contains its icon.
  'img-src': ["'self'", 'data:'],
  'object-src': ["'none'"],
  'base-uri': ["'none'"],
  'form-action': ["'self'"],
  'frame-ancestors': ["'none'"],
};

/** Of the operator's files: opened alone, they run nothing and are of no origin. */
const brandPolicy: typeof policy = {
  'default-src': ["'none'"],
  'style-src': ["'unsafe-inline'"],
  'img-src': ['data:'],
  'frame-ancestors': ["'none'"],
  sandbox: [],
};

scenario(
  'every page and answer has one policy: own scripts only, no plugins, no base, no frames',
  async (tally) => {
    for (const path of [...routes.map((route) => route.path), '/nothing', '/api/v1/%ff']) {
      const { headers } = await admin.get(path);
      tally.tried();
      const text = headers.get('content-security-policy') ?? '';
      const expected = path.startsWith('/brand/') ? brandPolicy : policy;
      assert.deepEqual(Object.fromEntries(directivesOf(text)), expected, path);
      // Two policies would be joined by a comma.
      assert.doesNotMatch(text, /,|unsafe-eval|strict-dynamic|nonce-|https?:|blob:|\*/, path);
      assert.equal(headers.get('content-security-policy-report-only'), null);
      tally.held(Object.keys(expected).length + 2);
    }
  },
);

scenario(
  'the served pages contain no inline script, no handler, and nothing from other origins',
  async (tally) => {
    const found = [];
    for (const { path } of routes) {
      const asked = service.client().request('GET', path, { headers: { accept: 'text/html' } });
      const { headers, text, status } = await asked;
      if (status !== 200 || !headers.get('content-type')?.startsWith('text/html')) continue;
      found.push(path);
      tally.tried();
      // Five rules are checked for each tag.
      tally.held(5);
      const tags = text.match(/<[a-z][^>]*>/gi) ?? [];
      for (const tag of tags) {
        assert.doesNotMatch(tag, /\son[a-z]+\s*=/i, `${path}: ${tag}`);
        assert.doesNotMatch(tag, /(javascript|vbscript):/i, `${path}: ${tag}`);
        assert.doesNotMatch(tag, /^<(base|iframe|object|embed|frame|applet|style)\b/i, `${path}: ${tag}`);
        assert.doesNotMatch(tag, /http-equiv/i, `${path}: ${tag}`);
        if (/^<(script|link|img|source|form)\b/i.test(tag))
          assert.doesNotMatch(
            tag,
            /\s(src|href|action|srcset)\s*=\s*["']?\s*([a-z]+:)?\/\//i,
            `${path}: ${tag}`,
          );
      }
      for (const [script, inside] of text.matchAll(/<script\b[^>]*>([\s\S]*?)<\/script>/gi)) {
        assert.match(script, /\ssrc="[\w./-]+"/, `${path}: ${script}`);
        assert.equal(inside, '', path);
        tally.held(2);
      }
    }
    const declared = found.map((path) =>
      path.replace(/(?<=^\/(roles|applications|identity-providers|webhooks)\/)[0-9a-f-]{36}$/, ':id'),
    );
    assert.deepEqual(declared.sort(), pages.sort());
  },
);

scenario(
  'in a real browser no page breaks its policy, none can be framed, and planted scripts and eval do not run',
  async (tally, t) => {
    const browser = await openBrowser(t, service);
    // One window, because a new one compiles the pages again.
    const { page, complaints, foreign } = await newVisit(browser);
    await page.addInitScript(`
      addEventListener('securitypolicyviolation', (event) => {
        (window.violations ??= []).push(event.violatedDirective);
      });`);
    for (const path of openPages) {
      // What the page before may still say is not about this one.
      await page.goto('about:blank');
      complaints.length = 0;
      foreign.length = 0;
      await page.goto(`${path}#token=x`, { waitUntil: 'load' });
      tally.tried();
      assert.deepEqual(await page.evaluate('window.violations ?? []'), [], path);
      assert.deepEqual({ complaints, foreign }, { complaints: [], foreign: [] }, path);
      tally.held(2);
      // Attacks by someone who could write into the page, each with what the console says of its refusal.
      const planted: Record<string, [script: string, refusal: RegExp]> = {
        'an inline script': [
          `document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.ran = 1' }))`,
          /inline script.*script-src/,
        ],
        'a handler': [
          `document.body.insertAdjacentHTML('beforeend', '<img src="/nothing" onerror="window.ran = 2">')`,
          /inline event handler.*script-src/,
        ],
        'a script from a data address': [
          `document.body.append(Object.assign(document.createElement('script'), { src: 'data:text/javascript,window.ran=3' }))`,
          /script 'data:.*script-src/,
        ],
        'a script from a blob': [
          `document.body.append(Object.assign(document.createElement('script'), { src: URL.createObjectURL(new Blob(['window.ran = 4'])) }))`,
          /script 'blob:.*script-src/,
        ],
        'a plugin': [
          `document.body.insertAdjacentHTML('beforeend', '<object data="/docs"></object>')`,
          /plugin data.*object-src/,
        ],
        'a base': [
          `document.head.insertAdjacentHTML('beforeend', '<base href="http://evil.example/">')`,
          /base URI.*base-uri/,
        ],
        'a frame of another site': [
          `document.body.insertAdjacentHTML('beforeend', '<iframe src="http://evil.example/"></iframe>')`,
          /Framing 'http:\/\/evil.*default-src/,
        ],
        'a frame of its own': [
          `document.body.insertAdjacentHTML('beforeend', '<iframe src="/forgot"></iframe>')`,
          /Framing 'http:\/\/castellan.*frame-ancestors/,
        ],
        'a call elsewhere': [`fetch('http://evil.example/').catch(() => {})`, /Connecting to.*default-src/],
        // Run by a timer of the page: the policy does not apply to evaluation from outside.
        'text as code': [`setTimeout('window.ran = 5', 0)`, /Evaluating a string.*script-src/],
      };
      for (const [what, [script, refusal]] of Object.entries(planted)) {
        await page.evaluate(script);
        // The console reports each refusal, and nothing for code that ran.
        await eventually(
          () => (complaints.some((complaint) => refusal.test(complaint)) ? true : undefined),
          `${path}: ${what}`,
        );
        tally.tried();
        assert.equal(await page.evaluate('window.ran'), undefined, `${path}: ${what}`);
        tally.held(2);
      }
      assert.equal(await page.evaluate('document.baseURI.startsWith("http://castellan.test/")'), true);
      // The browser announces a blob before it refuses it.
      assert.deepEqual(
        foreign.filter((one) => !one.startsWith('blob:')),
        [],
        path,
      );
      tally.held(2);
    }
  },
);
