// What the tests of browser sessions share: a service with an active application, its cookie, and who is found by it.
import type { TestClient } from '@castellan/testing/client';
import type { Hooks, TestService } from '@castellan/testing/harness';
import { type FoundBrowser, findBrowserSession } from '../../../src/modules/sessions/browser/session.ts';
import { makeApplication, startWithAdmin } from '../../applications/fixture.ts';

export const SSO = 'castellan_sso';

/** Makes this instance read what every instance reads every two seconds. */
export const reload = ({ service }: TestService): Promise<void> => service.deps.keyRing.load();

/** Starts a service that knows of an active application. */
export async function startWithApplication(
  hooks: Hooks,
  environment: Record<string, string> = {},
): Promise<{ service: TestService; admin: TestClient }> {
  const started = await startWithAdmin(hooks, { RATE_LIMIT_NEW_ACCESS_TOKEN: 'off', ...environment });
  await makeApplication(started.admin);
  await reload(started.service);
  return started;
}

export const ssoOf = (client: TestClient): string => client.cookies.get(SSO) ?? '';

/** Returns who is signed in in a browser that sends this header. */
export const findWith = (
  { service }: TestService,
  cookie: string | null,
  address = '127.0.0.1',
): Promise<FoundBrowser> => findBrowserSession(service.deps, { cookie, address });

export const findBy = (service: TestService, value: string, address?: string): Promise<FoundBrowser> =>
  findWith(service, `${SSO}=${value}`, address);

export async function isLive(service: TestService, value: string): Promise<boolean> {
  return (await findBy(service, value)).session !== null;
}
