// What races stand on: one administrator at two instances of one service, rounds, and what answers may be.
// It must not decide who wins: a test holds whichever way a race goes.
import assert from 'node:assert/strict';
import type { Answer, TestClient } from '../client.ts';
import type { Hooks } from '../harness.ts';
import { type Office, openOffice } from './fixture.ts';

/** `at(n)` is the first instance for odd numbers, the second for even ones. */
export async function openTwoInstances(hooks: Hooks): Promise<Office & { at(index: number): TestClient }> {
  const office = await openOffice(hooks);
  const there = office.admin.at((await office.service.another()).url);
  await there.post('/api/v1/roles', {});
  return { ...office, at: (index) => (index % 2 ? office.admin : there) };
}

// Enough for both ways of every race to happen on a slow machine, few enough for a quick suite.
const ROUNDS = 12;

export async function rounds(run: (round: number) => Promise<void>): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) await run(round);
}

export const statusesOf = (answers: readonly Answer[]): number[] =>
  answers.map(({ status }) => status).sort();

/** Each of them answered one of these; everything else is told with its text. */
export function assertAmong(answers: readonly Answer[], allowed: readonly number[]): void {
  for (const { status, text } of answers) assert.ok(allowed.includes(status), `${status}: ${text}`);
}
