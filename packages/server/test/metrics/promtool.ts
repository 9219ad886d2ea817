// Says whether the programs of Prometheus are here. It must not excuse their absence in CI, where the tests that need them fail.
import { spawnSync } from 'node:child_process';

const whyWithout = (...programs: string[]): string | false => {
  const missing = programs.filter((name) => spawnSync(name, ['--version']).status !== 0);
  return missing.length > 0 && !process.env.CI
    ? `${missing.join(' and ')} not installed: apt-get install --no-install-recommends prometheus`
    : false;
};

/** Why a test of promtool is skipped; false if it is not. */
export const withoutPromtool = whyWithout('promtool');
/** The same of one that also runs Prometheus. */
export const withoutPrometheus = whyWithout('prometheus', 'promtool');
