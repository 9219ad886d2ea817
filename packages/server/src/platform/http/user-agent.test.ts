// Browsers and systems that are named, and headers that name nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeUserAgent } from './user-agent.ts';

const SAFARI = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';
const CHROME = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0';
const WINDOWS = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64)';
const MAC = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)';
const IPHONE = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X)';
const IPAD = 'Mozilla/5.0 (iPad; CPU OS 18_7 like Mac OS X)';
const ANDROID = 'Mozilla/5.0 (Linux; Android 10; K)';

const known: readonly (readonly [userAgent: string, browser: string | null, system: string | null])[] = [
  [`${WINDOWS} ${CHROME} Safari/537.36`, 'Chrome', 'Windows'],
  [`${WINDOWS} ${CHROME} Safari/537.36 Edg/142.0.3595.53`, 'Edge', 'Windows'],
  [`${WINDOWS} AppleWebKit/537.36 (KHTML, like Gecko) Chrome/64.0 Safari/537.36 Edge/17`, 'Edge', 'Windows'],
  [`${WINDOWS.replace(')', '; rv:145.0)')} Gecko/20100101 Firefox/145.0`, 'Firefox', 'Windows'],
  [`${WINDOWS} ${CHROME} Safari/537.36 Vivaldi/7.6`, 'Vivaldi', 'Windows'],
  [`Mozilla/5.0 (X11; Linux x86_64) ${CHROME} Safari/537.36 OPR/128.0`, 'Opera', 'Linux'],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0', 'Firefox', 'Linux'],
  [`Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${CHROME} Safari/537.36`, 'Chrome', 'ChromeOS'],
  [`${MAC} ${SAFARI} Version/26.0 Safari/605.1.15`, 'Safari', 'macOS'],
  [`${MAC} ${SAFARI} Version/26.0 Safari/605.1.15 Ddg/26.0`, 'DuckDuckGo', 'macOS'],
  [`${MAC} ${CHROME} Safari/537.36`, 'Chrome', 'macOS'],
  [`${IPHONE} ${SAFARI} Version/26.1 Mobile/15E148 Safari/604.1`, 'Safari', 'iOS'],
  [`${IPHONE} ${SAFARI} FxiOS/145.0 Mobile/15E148 Safari/605.1.15`, 'Firefox', 'iOS'],
  [`${IPHONE} ${SAFARI} Version/18.0 EdgiOS/142.0 Mobile/15E148 Safari/605.1.15`, 'Edge', 'iOS'],
  [`${IPAD} ${SAFARI} CriOS/142.0 Mobile/15E148 Safari/604.1`, 'Chrome', 'iPadOS'],
  [`${ANDROID} ${CHROME} Mobile Safari/537.36`, 'Chrome', 'Android'],
  [`${ANDROID} ${CHROME} Mobile Safari/537.36 EdgA/142.0`, 'Edge', 'Android'],
  ['Mozilla/5.0 (Android 15; Mobile; rv:145.0) Gecko/145.0 Firefox/145.0', 'Firefox', 'Android'],
  [`${ANDROID} SamsungBrowser/28.0 Chrome/130.0.0.0 Safari/537.36`, 'Samsung Internet', 'Android'],
  ['Mozilla/5.0 (Windows NT 10.0)', null, 'Windows'],
  ['Firefox/145.0', 'Firefox', null],
  ['curl/8.5.0', null, null],
  ['evil.example/1 visit https://evil.example', null, null],
  ['  ', null, null],
];

for (const [userAgent, browser, system] of known)
  test(`${browser} on ${system} is read from ${userAgent}`, () => {
    assert.deepEqual(describeUserAgent(userAgent), { browser, system });
  });

test('no header names nothing', () => {
  assert.deepEqual(describeUserAgent(null), { browser: null, system: null });
  assert.deepEqual(describeUserAgent(''), { browser: null, system: null });
});
