// RATE_LIMIT_REFRESH counts exchanges per session exactly, over two instances and both paths, and only with valid
// tokens. It must not wait for a window to pass: it ends windows in SQL.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { signIn } from '@castellan/testing/harness';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addUser, liveSessionIds } from '@castellan/testing/sessions/accounts';
import { codesOf } from '@castellan/testing/sessions/attempts';
import { openSigner, readToken } from '@castellan/testing/sessions/own-tokens';
import { statementsOf } from '@castellan/testing/statements';
import { newAccessToken, openInstances, refresh, sendAtOnce, times } from './requests.ts';

const scenario = scenariosOf('races');
const LIMIT = 5;
const instances = await openInstances({ after }, { RATE_LIMIT_REFRESH: `${LIMIT}/minute` });
const { service } = instances;

scenario(
  'of many exchanges of one session at once exactly the limit passes, in each window',
  async (tally) => {
    const client = await signIn(service, await addUser(service));
    const bystander = await signIn(service, await addUser(service));
    const sid = readToken(client.accessToken as string).claims.sid;
    for (let window = 0; window < rounds(2, 10); window += 1) {
      const requests = times(20, (index) => (index % 2 ? refresh : newAccessToken)(client.refreshToken));
      const answers = await sendAtOnce(instances, requests, window);
      tally.tried(20);
      assert.deepEqual(codesOf(answers), { ok: LIMIT, rate_limited: 20 - LIMIT });
      for (const { status, headers } of answers) {
        if (status !== 429) continue;
        assert.ok(Number(headers.get('retry-after')) >= 1);
        assert.equal(headers.get('ratelimit-limit'), String(LIMIT));
        assert.equal(headers.get('ratelimit-remaining'), '0');
      }
      const other = await sendAtOnce(instances, [newAccessToken(bystander.refreshToken)], window);
      assert.deepEqual(codesOf(other), { ok: 1 });
      tally.held(3);
      await service.sql("update rate_limits set reset_at = now() - interval '1 second' where key like $1", [
        `%${sid}`,
      ]);
    }
  },
);

scenario(
  'tokens that are not on the allowlist use up nothing of the limit of the session that they name',
  async (tally) => {
    const user = await addUser(service);
    const client = await signIn(service, user);
    const sign = await openSigner(service);
    const { claims } = readToken(client.refreshToken as string);
    const forged = `${(client.refreshToken as string).slice(0, -4)}AAAA`;
    const expired = sign({
      ...claims,
      iat: claims.iat - 7_200,
      nbf: claims.iat - 7_200,
      exp: claims.iat - 3_600,
    });
    const others = await sendAtOnce(
      instances,
      times(30, (index) => refresh(index % 2 ? forged : expired)),
    );
    assert.deepEqual(codesOf(others), { refresh_token_invalid: 30 });
    const own = await sendAtOnce(
      instances,
      times(LIMIT, () => refresh(client.refreshToken)),
    );
    assert.deepEqual(codesOf(own), { ok: LIMIT });
    assert.equal((await liveSessionIds(service, user.id)).length, 1);
    tally.tried(30 + LIMIT);
    tally.held(3);
  },
);

scenario('an exchange over the limit is refused before it takes a row lock', async (tally) => {
  const client = await signIn(service, await addUser(service));
  await sendAtOnce(
    instances,
    times(LIMIT, () => refresh(client.refreshToken)),
  );
  const texts = await statementsOf(async () => {
    assert.deepEqual(codesOf(await sendAtOnce(instances, [refresh(client.refreshToken)])), {
      rate_limited: 1,
    });
  });
  assert.deepEqual(
    texts.filter(
      (text) => /for (no key )?update|^begin/i.test(text) && !/rate_limits|lock_timeout/.test(text),
    ),
    [],
  );
  tally.tried();
  tally.held();
});
