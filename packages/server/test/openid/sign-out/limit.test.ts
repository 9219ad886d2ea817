// Sign-outs are counted by address, because a form keeps a request for anybody.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestService } from '@castellan/testing/harness';
import { formRequest } from '@castellan/testing/service-accounts/token-services';

test('sign-outs beyond RATE_LIMIT_AUTHORIZE are refused, in either method, and keep nothing', async () => {
  const service = await startTestService({ after }, { RATE_LIMIT_AUTHORIZE: '3/minute' });
  const client = service.client();
  const path = '/api/v1/oauth/logout';
  for (let sent = 0; sent < 3; sent += 1)
    assert.equal((await client.request('POST', path, formRequest(''))).status, 303);
  for (const answer of [await client.request('POST', path, formRequest('')), await client.get(path)]) {
    assert.equal(answer.status, 429, answer.text);
    assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/);
  }
  assert.equal((await service.sql(`select from application_requests where kind = 'sign_out'`)).length, 3);
});
