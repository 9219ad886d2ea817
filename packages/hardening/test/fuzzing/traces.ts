// Checks that hostile input leaves no trace in the process and no bad line in its log.
// It must not send anything.
import assert from 'node:assert/strict';
import type { TestService } from '@castellan/testing/harness';

const namesOf = (): string[][] =>
  [Object.prototype, Array.prototype, String.prototype, Function.prototype].map((prototype) =>
    Reflect.ownKeys(prototype).map(String),
  );
const clean = namesOf();

/**
 * Checks that no prototype was changed; the service runs in this process. Returns 1, the number of statements checked.
 */
export function assertCleanPrototypes(): number {
  assert.deepEqual(namesOf(), clean, 'a prototype has been changed');
  return 1;
}

const judged = new WeakMap<TestService, number>();
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is its purpose
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/**
 * Checks that every log line is one JSON object without an error or control characters. Returns 1, the number of
 * statements checked.
 */
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
