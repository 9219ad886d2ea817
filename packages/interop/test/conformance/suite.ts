// Runs modules against one provider, each as a test with a browser of its own, and compares their warnings with those that are known.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import type { Hooks } from '@castellan/testing/harness';
import { portOf } from '@castellan/testing/ports';
import { newBrowser, type Provider } from '../providers/provider.ts';
import { basicModules } from './basic.ts';
import { configModules, logoutDiscoveryModules } from './discovery.ts';
import { backchannelModules, rpInitiatedModules } from './logout.ts';
import { requestModules } from './requests.ts';
import { discover, type Module } from './run.ts';

export type Inbox = { url: string };

/** Starts an application's address for sign-outs until `t` ends. It adds the bodies to `received`. */
export async function startInbox(t: Hooks, received: string[]): Promise<Inbox> {
  const server = createServer(async (request, response) => {
    received.push(await text(request));
    response.writeHead(200, { 'cache-control': 'no-store' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${portOf(server)}/sign-outs` };
}

/** The profiles, each with its modules. */
export const profiles = (received: readonly string[]): Record<string, readonly Module[]> => ({
  Basic: [...basicModules, ...requestModules],
  Config: configModules,
  'RP-Initiated Logout': [...logoutDiscoveryModules.slice(0, 1), ...rpInitiatedModules],
  'Back-Channel Logout': [...logoutDiscoveryModules.slice(1), ...backchannelModules(received)],
});

/** Defines a test of each module. `known` has the warnings that stay, by module; docs/contribute/openid-conformance.md gives the reasons. */
export function testModules(
  provider: Provider,
  modules: readonly Module[],
  known: Readonly<Record<string, readonly string[]>>,
): void {
  for (const module of modules)
    test(`${module.name}: ${module.checks}`, async () => {
      const warnings: string[] = [];
      await module.run({
        provider,
        browser: newBrowser(provider),
        ...(await discover(provider)),
        warn: (warning) => warnings.push(warning),
      });
      assert.deepEqual(warnings, known[module.name] ?? []);
    });
}
