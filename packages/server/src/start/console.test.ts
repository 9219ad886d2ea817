// When the console is built before a start, and what is said if it cannot be.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepareConsole } from './console.ts';

type State = 'current' | 'stale' | 'missing';

async function prepare(state: State, { hasTools = true, fails = false } = {}) {
  const lines: string[] = [];
  let builds = 0;
  const write = (level: string) => (text: string) => void lines.push(`${level}: ${text}`);
  await prepareConsole(
    { info: write('info'), warn: write('warn') },
    {
      stateOfBuild: () => state,
      canBuild: () => hasTools,
      buildConsole: async () => {
        builds += 1;
        if (fails) throw new Error('broken source.');
      },
    },
  );
  return { lines, builds };
}

test('a current console is left as it is, without a word', async () => {
  assert.deepEqual(await prepare('current'), { lines: [], builds: 0 });
});

test('a missing or old console is built, and the log says so', async () => {
  assert.deepEqual(await prepare('missing'), {
    lines: ['info: The console is not built. Building it.'],
    builds: 1,
  });
  assert.deepEqual(await prepare('stale'), {
    lines: ['info: The console is older than its sources. Building it.'],
    builds: 1,
  });
});

test('without the tools, or after a failed build, the log says what to do', async () => {
  const { lines, builds } = await prepare('missing', { hasTools: false });
  assert.equal(builds, 0);
  assert.match(lines.join(), /^warn: The console is not built\. .*run npm ci/);
  const failed = await prepare('stale', { fails: true });
  assert.match(
    failed.lines.join('\n'),
    /warn: The console could not be built: broken source\. Run npm run build/,
  );
});
