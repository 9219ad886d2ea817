// The conformance modules against the library oidc-provider, which is certified for these profiles: a module that fails here is wrong
// itself.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startLibrary } from '../providers/oidc-provider.ts';
import { profiles, startInbox, testModules } from './suite.ts';
import { warningsOfLibrary } from './warnings.ts';

const received: string[] = [];
const inbox = await startInbox({ after }, received);
const provider = await startLibrary({ after }, { backchannelUrl: inbox.url });

for (const [profile, modules] of Object.entries(profiles(received)))
  describe(profile, () => testModules(provider, modules, warningsOfLibrary));

test('there are the modules of four profiles, each once', () => {
  const all = Object.entries(profiles([]));
  assert.deepEqual(
    all.map(([profile, modules]) => [profile, modules.length]),
    [
      ['Basic', 38],
      ['Config', 1],
      ['RP-Initiated Logout', 11],
      ['Back-Channel Logout', 2],
    ],
  );
  const names = all.flatMap(([, modules]) => modules.map(({ name }) => name));
  assert.equal(new Set(names).size, 52);
});
