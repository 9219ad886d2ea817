// Which commit counts as the last release.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { lastRelease } from './last-release.ts';

/** Creates a repository with one empty commit per subject, oldest first. */
function repositoryOf(t: TestContext, subjects: readonly string[]) {
  const root = mkdtempSync(join(tmpdir(), 'castellan-release-'));
  t.after(() => rmSync(root, { recursive: true }));
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args], {
      cwd: root,
      encoding: 'utf8',
    }).trim();
  git('init', '--quiet');
  const commits = subjects.map((subject) => {
    git('commit', '--quiet', '--allow-empty', '--no-gpg-sign', '--message', subject);
    return git('rev-parse', 'HEAD');
  });
  return { root, commits };
}

test('the newest release commit counts, not a subject that only begins like one', (t) => {
  const { root, commits } = repositoryOf(t, [
    'chore(release): 0.1.0',
    'chore(release): 0.2.0',
    'chore(release): describe the steps',
    'docs: quote chore(release): 0.3.0',
  ]);
  assert.deepEqual(lastRelease(root), { commit: commits[1], version: '0.2.0' });
});

test('a release commit at HEAD is compared with the release before it, the first one with itself', (t) => {
  const first = repositoryOf(t, ['feat: begin', 'chore(release): 0.1.0']);
  assert.equal(lastRelease(first.root).commit, first.commits[1]);
  const second = repositoryOf(t, ['chore(release): 0.1.0', 'feat: more', 'chore(release): 0.2.0']);
  assert.equal(lastRelease(second.root).commit, second.commits[0]);
});

test('a history without a release, and a folder without a history, are compared with themselves', (t) => {
  const { root } = repositoryOf(t, ['feat: begin']);
  assert.deepEqual(lastRelease(root), { commit: 'HEAD', version: undefined });
  const folder = mkdtempSync(join(tmpdir(), 'castellan-release-'));
  t.after(() => rmSync(folder, { recursive: true }));
  assert.deepEqual(lastRelease(folder), { commit: 'HEAD', version: undefined });
});
