// The CSRF cookie beside some of the same name from a neighbouring site: what the service did not sign has no effect, and
// of two that it signed none counts. It must judge by answers alone: nothing here knows how the service signs.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { startTestService } from '@castellan/testing/harness';
import { scenariosOf } from '@castellan/testing/scenario';
import { assertError } from '../answers.ts';

const scenario = scenariosOf('http');
const service = await startTestService({ after });
const CSRF_URL = '/api/v1/auth/csrf-token';

type Browser = { value: string; token: string };

async function newBrowser(cookie?: string): Promise<Browser> {
  const headers = cookie === undefined ? {} : { cookie };
  const answer = await service.client().get(CSRF_URL, { headers });
  assert.equal(answer.status, 200, answer.text);
  const [set = ''] = answer.headers.getSetCookie();
  return { value: /^csrf_token=([^;]+)/.exec(set)?.[1] ?? '', token: answer.body.data.csrf_token };
}

/** Sends a change without a session: with a valid CSRF pair it is refused only for the missing token. */
const change = (cookie: string, token: string): Promise<Answer> =>
  service.client().request('POST', '/api/v1/auth/logout', { headers: { cookie, 'x-csrf-token': token } });

const mine = await newBrowser();
const theirs = await newBrowser();
const spoiled = `${mine.value.slice(0, -2)}${mine.value.at(-2) === 'A' ? 'B' : 'A'}${mine.value.at(-1)}`;
const strangers = [
  'evil',
  '',
  '%',
  '%00',
  '"',
  '"evil"',
  spoiled,
  mine.token,
  `${mine.value}x`,
  // Quotes are a part of the value (RFC 6265, 5.2).
  `"${theirs.value}"`,
];

/** Returns cookie headers with the browser's own cookie in every position. */
const headersWith = (other: string): string[] => [
  `csrf_token=${other}; csrf_token=${mine.value}`,
  `csrf_token=${mine.value}; csrf_token=${other}`,
  `csrf_token=${other};csrf_token=${mine.value};csrf_token=${other}`,
  `a=b; csrf_token=${other}; csrf_token =${mine.value}; c=d`,
  `csrf_token=${other}; refresh_token=x; csrf_token=${mine.value}`,
  `csrf_token=${mine.value}; csrf_token; csrf_token==; =csrf_token; csrf_token=${other}; csrf_token=${mine.value}`,
];

scenario(
  "a CSRF cookie set by a neighbouring site, in any position, does not prevent a browser's changes",
  async (tally) => {
    for (const other of strangers)
      for (const cookie of headersWith(other)) {
        tally.tried();
        tally.held(assertError(await change(cookie, mine.token), 401, 'token_missing', cookie.slice(0, 60)));
      }
    const crowd = Array.from({ length: 100 }, (_, number) => `csrf_token=evil${number}`).join('; ');
    tally.tried();
    tally.held(
      assertError(
        await change(`${crowd}; csrf_token=${mine.value}`, mine.token),
        401,
        'token_missing',
        crowd,
      ),
    );
  },
);

scenario(
  'a CSRF token is made for the cookie that the service signed, and that cookie is kept',
  async (tally) => {
    for (const other of strangers)
      for (const cookie of headersWith(other)) {
        const { value, token } = await newBrowser(cookie);
        assert.equal(value, mine.value, cookie.slice(0, 60));
        assert.equal((await change(cookie, token)).status, 401);
        tally.tried(2);
        tally.held(2);
      }
    // No valid cookie: the service sets a new one.
    const fresh = await newBrowser(`csrf_token=evil; csrf_token=${spoiled}`);
    assert.ok(![mine.value, spoiled, 'evil', ''].includes(fresh.value));
    assert.equal((await change(`csrf_token=${fresh.value}`, fresh.token)).status, 401);
    tally.tried(2);
    tally.held(2);
  },
);

scenario(
  'of two CSRF cookies that the service signed none counts, in any order and number',
  async (tally) => {
    for (const cookie of [
      ...headersWith(theirs.value),
      `csrf_token=evil; csrf_token=${theirs.value}; csrf_token=; csrf_token=${mine.value}`,
    ]) {
      for (const { token } of [mine, theirs]) {
        tally.tried();
        tally.held(assertError(await change(cookie, token), 403, 'csrf_invalid', cookie.slice(0, 60)));
      }
      const { value } = await newBrowser(cookie);
      assert.ok(value !== '' && value !== mine.value && value !== theirs.value, 'a new one is set');
      tally.tried();
      tally.held();
    }
  },
);

scenario('no other CSRF cookies, however many, replace the one that a token was made for', async (tally) => {
  const third = await newBrowser();
  for (const cookie of [
    `csrf_token=${mine.value}; csrf_token=${theirs.value}`,
    `csrf_token=${theirs.value}; csrf_token=${mine.value}`,
    `csrf_token=evil; csrf_token=${mine.value}; csrf_token=${spoiled}`,
    `csrf_token=evil; other=${third.value}; csrf_token=${mine.value}`,
    `xcsrf_token=${third.value}; csrf_token_=${third.value}; csrf_token=${mine.value}`,
    `CSRF_TOKEN=${third.value}; csrf_token=${mine.value}`,
    `csrf_token=${third.value.slice(0, 22)}; csrf_token=${third.value.slice(23)}`,
    `csrf_token=${mine.value.slice(0, 23)}${third.value.slice(23)}; csrf_token=${third.value.slice(0, 23)}${mine.value.slice(23)}`,
    `csrf_token=${mine.value},csrf_token=${third.value}`,
  ]) {
    for (const token of [third.token, '', 'x', third.value, `${third.token}, ${mine.token}`]) {
      tally.tried();
      tally.held(assertError(await change(cookie, token), 403, 'csrf_invalid', cookie.slice(0, 60)));
    }
  }
});
