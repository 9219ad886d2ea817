// What tests of sign-ins by a provider share: a service with an issuer, who signs in there next, and visitors whom it signs in at once.
import assert from 'node:assert/strict';
import { nextVisit } from '@castellan/testing/e2e/browser';
import { ADMIN, type Hooks, signIn } from '@castellan/testing/harness';
import { startIssuer } from '@castellan/testing/openid/issuer';
import type { Page } from 'playwright-core';
import { startConsole } from '../../harness.ts';

/** Of a provider that vouches for addresses of acme.example, and may make accounts for them. */
export const trusting = { sign_up: 'domains', domains: ['acme.example'], email_trust: 'domains' };

export async function startWithIssuer(t: Hooks, environment: Record<string, string> = {}) {
  const site = await startConsole(t, {
    CONCURRENT_SESSION_LIMIT: '100',
    RATE_LIMIT_PROVIDER_START: 'off',
    ...environment,
  });
  const { service } = site;
  const admin = await signIn(service, ADMIN);
  const issuer = await startIssuer(t);
  let made = 0;
  return {
    service,
    admin,
    issuer,

    /** Makes a provider of the issuer, with the button "Continue with <name>". */
    async addProvider(name: string, fields: object = {}): Promise<string> {
      const { status, text, body } = await admin.post('/api/v1/identity-providers', {
        slug: name.toLowerCase(),
        name,
        kind: 'oidc',
        issuer: issuer.issuer,
        client_id: issuer.client.id,
        client_secret: issuer.client.secret,
        ...fields,
      });
      assert.equal(status, 201, text);
      return body.data.id;
    },

    /** Who signs in at the issuer next. */
    somebody(claims: object = {}): string {
      made += 1;
      const email = `person-${made}@acme.example`;
      issuer.person = {
        sub: `sub-${made}`,
        email,
        email_verified: true,
        given_name: 'Ada',
        family_name: 'Byron',
        ...claims,
      };
      return email;
    },

    /** A new visitor, whom the issuer signs in at once. Complaints fail the test, except `expected`. */
    async visit(t: Hooks, expected: string[] = []): Promise<Page> {
      const { page, complaints, leave } = await nextVisit(site.browser);
      t.after(async () => {
        await leave();
        assert.deepEqual(
          complaints.filter((one) => !expected.some((part) => one.includes(part))),
          [],
        );
      });
      page.setDefaultTimeout(15_000);
      await page.route(`${issuer.url}/**`, (route) => {
        const { redirectUri, parameters } = issuer.approve(route.request().url());
        return route.fulfill({ status: 303, headers: { location: `${redirectUri}?${parameters}` } });
      });
      return page;
    },
  };
}

export const continueWith = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name: `Continue with ${name}` }).click();
