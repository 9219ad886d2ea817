// Devices that people recognize in a list of sessions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deviceOf } from './user-agent.ts';

const SAFARI = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';
const CHROME = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0';

const known: readonly (readonly [userAgent: string, browser: string, system: string, kind: string])[] = [
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME} Safari/537.36`, 'Chrome 142', 'Windows', 'desktop'],
  [
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME} Safari/537.36 Edg/142.0.3595.53`,
    'Edge 142',
    'Windows',
    'desktop',
  ],
  [`Mozilla/5.0 (X11; Linux x86_64) ${CHROME} Safari/537.36 OPR/128.0`, 'Opera 128', 'Linux', 'desktop'],
  [`Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${CHROME} Safari/537.36`, 'Chrome 142', 'ChromeOS', 'desktop'],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:144.0) Gecko/20100101 Firefox/144.0',
    'Firefox 144',
    'macOS',
    'desktop',
  ],
  [
    `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${SAFARI} Version/26.0 Safari/605.1.15`,
    'Safari 26',
    'macOS',
    'desktop',
  ],
  [
    `Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) ${SAFARI} Version/18.5 Mobile/15E148 Safari/604.1`,
    'Safari 18',
    'iOS',
    'phone',
  ],
  [
    `Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) ${SAFARI} CriOS/142.0 Mobile/15E148 Safari/604.1`,
    'Chrome 142',
    'iPadOS',
    'tablet',
  ],
  [`Mozilla/5.0 (Linux; Android 10; K) ${CHROME} Mobile Safari/537.36`, 'Chrome 142', 'Android', 'phone'],
  [
    `Mozilla/5.0 (Linux; Android 14; SM-X910) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Safari/537.36`,
    'Samsung Internet 28',
    'Android',
    'tablet',
  ],
];

for (const [userAgent, browser, system, kind] of known)
  test(`${browser} on ${system} is recognized`, () => {
    assert.deepEqual(deviceOf(userAgent), { browser, system, kind });
  });

test('a program is named by its product', () => {
  assert.deepEqual(deviceOf('curl/8.5.0'), { browser: 'curl 8.5', system: null, kind: 'program' });
  assert.deepEqual(deviceOf('node'), { browser: 'node', system: null, kind: 'program' });
  assert.deepEqual(deviceOf('okhttp/4'), { browser: 'okhttp 4', system: null, kind: 'program' });
});

test('an unknown browser keeps its system', () => {
  assert.deepEqual(deviceOf('Mozilla/5.0 (Windows NT 10.0)'), {
    browser: null,
    system: 'Windows',
    kind: 'desktop',
  });
});

test('text without meaning names nothing', () => {
  assert.deepEqual(deviceOf('!!'), { browser: null, system: null, kind: 'program' });
  assert.equal(deviceOf('  '), null);
  assert.equal(deviceOf(null), null);
});

test('a hostile header is read in time that grows with its length', () => {
  const start = performance.now();
  deviceOf(`Mozilla/5.0 ${'Version/1'.repeat(20_000)}`);
  deviceOf('a-'.repeat(50_000));
  assert.ok(performance.now() - start < 500);
});
