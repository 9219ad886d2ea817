// Finds the last release in the history, for the checks that compare this version with it. It must not need a tag: a clone
// may have none.
import { execFileSync } from 'node:child_process';

const subject = /^chore\(release\): (\d+\.\d+\.\d+)\b/;

/**
 * Returns the newest release commit before HEAD in the checkout at `root`, or HEAD if it is the first release or the history
 * has none, as in a shallow clone; `version` is undefined then. "A release" in CONTRIBUTING.md describes such a commit.
 */
export function lastRelease(root: string): { commit: string; version: string | undefined } {
  const [head, ...earlier] = subjectsIn(root).map(([commit, text]) => ({
    commit,
    version: subject.exec(text)?.[1],
  }));
  const release = [...earlier, ...(head ? [head] : [])].find(({ version }) => version !== undefined);
  return release ?? { commit: 'HEAD', version: undefined };
}

/** Returns the commit of the last release, and prints which one it is. */
export function tellLastRelease(root: string): string {
  const { commit, version } = lastRelease(root);
  process.stdout.write(
    version === undefined
      ? 'This history has no release, so this version is compared with itself. `git fetch --unshallow` brings the rest.\n'
      : `The last release is ${version}.\n`,
  );
  return commit;
}

/** Returns HEAD and all commits before it, newest first; none outside a checkout. */
function subjectsIn(root: string): [commit: string, subject: string][] {
  try {
    const text = execFileSync('git', ['log', '--format=%H %s'], {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 1_073_741_824,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]);
  } catch {
    return [];
  }
}
