// The commands about requirements, against a service in memory that answers as the API does.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, before, beforeEach, test } from 'node:test';
import { Failure, UsageError } from '../src/command.ts';
import { run } from '../src/program.ts';

const ROLE = '0198c5a0-0000-7000-8000-000000000001';
const PERMISSION = '0198c5a0-0000-7000-8000-000000000002';
const preview = {
  dry_run: true,
  would_be_refused: null,
  impact: {
    holders: 12,
    without_factor: 2,
    subjects: [{ type: 'user', id: ROLE, name: 'Ada Byron' }],
    more: 1,
  },
};
const requirements = {
  settings: { required_for: 'administrators', enforced_from: null },
  roles: [
    {
      role: { id: ROLE, name: 'Admin' },
      required_acr: 'aal2',
      enforced_from: '2027-01-31T00:00:00.000Z',
      holders: 12,
      without_factor: 2,
    },
  ],
  permissions: [
    { permission: { id: PERMISSION, name: 'orders.refund' }, required_acr: 'phr', max_auth_age: 600 },
  ],
};

let seen: { method: string | undefined; url: string | undefined; body: string }[] = [];
let refusal: { status: number; code: string; detail: string } | undefined;
let answer: unknown = requirements;
const server = createServer(async (request, response) => {
  const { method, url } = request;
  seen.push({ method, url, body: await text(request) });
  response.setHeader('content-type', 'application/json');
  response.statusCode = refusal?.status ?? 200;
  const data = url?.endsWith('dry_run=true') ? preview : answer;
  response.end(JSON.stringify(refusal ? { ...refusal, request_id: 'r-1' } : { data, message: 'Done.' }));
});
let url = '';
before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  url = `http://127.0.0.1:${address instanceof Object ? address.port : 0}`;
});
after(() => server.close());
beforeEach(() => {
  seen = [];
  refusal = undefined;
  answer = requirements;
});

async function cli(...words: string[]): Promise<{ out: string; code: number; error: string }> {
  const lines: string[] = [];
  const environment = { CASTELLAN_URL: url, CASTELLAN_API_KEY: 'castellan_key', CASTELLAN_CONFIG: '/none' };
  try {
    await run({ environment, print: (line: string) => void lines.push(line) }, words, '0.0.0');
    return { out: lines.join('\n'), code: 0, error: '' };
  } catch (error) {
    assert.ok(error instanceof Error);
    const code = error instanceof UsageError ? 2 : error instanceof Failure ? error.exitCode : 1;
    return { out: lines.join('\n'), code, error: error.message };
  }
}

/** Returns the only request that a command sent. */
async function sentBy(...words: string[]): Promise<object> {
  seen = [];
  assert.deepEqual((await cli(...words)).error, '', words.join(' '));
  const [only, ...others] = seen;
  assert.ok(only && others.length === 0, `${seen.length} requests`);
  return { ...only, body: JSON.parse(only.body) };
}

test('role authentication sets a level and a date, and lifts both', async () => {
  const put = { method: 'PUT', url: `/api/v1/roles/${ROLE}/authentication` };
  const role = (...words: string[]) => sentBy('role', 'authentication', ROLE, ...words);
  assert.deepEqual(await role('--acr', 'phr', '--yes'), { ...put, body: { required_acr: 'phr' } });
  assert.deepEqual(await role('--acr', 'aal2', '--from', '2027-01-31', '--yes'), {
    ...put,
    body: { required_acr: 'aal2', enforced_from: '2027-01-31T00:00:00.000Z' },
  });
  assert.deepEqual(await role('--acr', 'none'), { ...put, body: { required_acr: null } });
});

test('permission authentication sets a level, an age or both, and lifts them', async () => {
  const put = { method: 'PUT', url: `/api/v1/permissions/${PERMISSION}/authentication` };
  const permission = (...words: string[]) => sentBy('permission', 'authentication', PERMISSION, ...words);
  assert.deepEqual(await permission('--acr', 'aal2', '--max-age', '600', '--yes'), {
    ...put,
    body: { required_acr: 'aal2', max_auth_age: 600 },
  });
  assert.deepEqual(await permission('--max-age', '30', '--yes'), {
    ...put,
    body: { required_acr: null, max_auth_age: 30 },
  });
  assert.deepEqual(await permission('--acr', 'none'), {
    ...put,
    body: { required_acr: null, max_auth_age: null },
  });
});

test('a dry run shows whom a requirement concerns', async () => {
  const { out, error } = await cli('role', 'authentication', ROLE, '--acr', 'aal2', '--dry-run');
  assert.equal(error, '');
  assert.match(out, /^Nothing was changed\./);
  assert.match(
    out,
    /It concerns 12 active users; 2 of them have no factor that is enough\.\n {2}Ada Byron\n {2}and 1 more$/,
  );
  assert.deepEqual(
    seen.map((one) => one.url),
    [`/api/v1/roles/${ROLE}/authentication?dry_run=true`],
  );
});

test('wrong options are refused before anything is sent', async () => {
  for (const [words, message] of [
    [['role', 'authentication', ROLE], /--acr is missing/],
    [['role', 'authentication', ROLE, '--acr', 'aal1'], /--acr/],
    [['role', 'authentication', ROLE, '--acr', 'none', '--from', '2027-01-31'], /leave out --from/],
    [['role', 'authentication', ROLE, '--acr', 'aal2', '--from', 'tomorrow'], /--from must be a date/],
    [['role', 'authentication', ROLE, '--acr', 'aal2', '--from', '2027-13-01'], /--from must be a date/],
    [['permission', 'authentication', PERMISSION], /give --acr/],
    [['permission', 'authentication', PERMISSION, '--acr', 'none', '--max-age', '60'], /leave out --max-age/],
    [['permission', 'authentication', PERMISSION, '--max-age', '29'], /30 to 86400/],
    [['permission', 'authentication', PERMISSION, '--max-age', '86401'], /30 to 86400/],
    [['permission', 'authentication', PERMISSION, '--max-age', '1h'], /30 to 86400/],
  ] as const) {
    const { code, error } = await cli(...words);
    assert.equal(code, 2, words.join(' '));
    assert.match(error, message);
  }
  assert.deepEqual(seen, []);
});

test('the refusal of the service is shown', async () => {
  refusal = { status: 403, code: 'user_required', detail: 'Only a signed-in user can do this.' };
  const { code, error } = await cli('role', 'authentication', ROLE, '--acr', 'none');
  assert.notEqual(code, 0);
  assert.match(error, /Only a signed-in user can do this/);
});

test('requirements lists settings, roles and permissions', async () => {
  const { out } = await cli('requirements');
  assert.match(out, /^A second factor is required of administrators \(SECOND_FACTOR_REQUIRED_FOR\)\.$/m);
  assert.match(out, /^ROLE +REQUIRES +FROM +HOLDERS +WITHOUT$/m);
  assert.match(out, /^Admin +aal2 +2027-01-31\S* +12 +2$/m);
  assert.match(out, /^orders\.refund +phr +600 s$/m);
  assert.deepEqual(JSON.parse((await cli('requirements', '--json')).out), {
    data: requirements,
    message: 'Done.',
  });
  answer = {
    settings: { required_for: 'everyone', enforced_from: '2027-01-31T00:00:00.000Z' },
    roles: [],
    permissions: [],
  };
  assert.equal(
    (await cli('requirements')).out,
    'A second factor is required of everyone from 2027-01-31T00:00:00.000Z (SECOND_FACTOR_REQUIRED_FOR).\nNo role and no permission requires more.',
  );
});
