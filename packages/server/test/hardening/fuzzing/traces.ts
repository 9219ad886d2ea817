// What hostile input may not leave behind in the process and in its log.
// It must not send anything.
import assert from 'node:assert/strict';
import type { TestService } from '../../harness.ts';

const namesOf = (): string[][] =>
  [Object.prototype, Array.prototype, String.prototype, Function.prototype].map((prototype) =>
    Reflect.ownKeys(prototype).map(String),
  );
const clean = namesOf();

/** The service runs in this process: what it did to a prototype shows here. Answers 1, the statement that held. */
export function assertCleanPrototypes(): number {
  assert.deepEqual(namesOf(), clean, 'a prototype has been changed');
  return 1;
}

const judged = new WeakMap<TestService, number>();
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is its purpose
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** Every line is one JSON object, none tells of a failure, none can move a terminal. Answers 1. */
export function assertCleanLog(service: TestService): number {
  for (const line of service.logLines.slice(judged.get(service) ?? 0)) {
    assert.ok(
      line.endsWith('\n') && !control.test(line.slice(0, -1)),
      `control characters: ${JSON.stringify(line)}`,
    );
    const entry = JSON.parse(line);
    assert.ok(entry !== null && typeof entry === 'object' && !Array.isArray(entry), line);
    assert.match(entry.time, /^\d{4}-\d\d-\d\dT/);
    assert.ok(!['error', 'fatal'].includes(entry.level), line);
  }
  judged.set(service, service.logLines.length);
  return 1;
}
