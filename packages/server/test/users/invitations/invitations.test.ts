// Invitations: what an administrator sends, what the person does with it, and what nobody can do before.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import {
  atOnce,
  linkTo,
  mailsTo,
  paths,
  strongPasswords,
  waitForEmptyOutbox,
} from '@castellan/testing/accounts/self-service';
import type { Answer } from '@castellan/testing/client';
import { ADMIN, newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { ABSENT_ID, assertRefused } from '@castellan/testing/http/fixture';
import { statementsOf } from '@castellan/testing/statements';
import { addPerson, addRole, eventsOf, signedInWith, tally } from '@castellan/testing/users/people';
import { removeUnverifiedAccounts } from '../../../src/modules/users/service.ts';

const service = await startTestService(
  { after },
  { ACCOUNT_LOCKOUT_ATTEMPTS: '3', ACCOUNT_EMAIL_LIMIT: '5/hour' },
);
const admin = await signIn(service, ADMIN);
const visitor = service.client();
const [NEW, OTHER] = strongPasswords;
const INVITE = '/api/v1/users/invitations';
const LOGIN = '/api/v1/auth/login';
const NO_TOKEN = 'x'.repeat(43);

type Invited = { id: string; email: string; token: string };

/** Invites somebody. Returns them with the token of their mail. */
async function invited(body: Record<string, unknown> = {}): Promise<Invited> {
  const email = newEmail('invited');
  const answer = await admin.post(INVITE, { email, first_name: 'Ada', last_name: 'Lovelace', ...body });
  assert.equal(answer.status, 201, answer.text);
  return { id: answer.body.data.id, email, token: await linkTo(service, email, 'invitation') };
}

const accept = (
  token: string,
  over: Record<string, unknown> = {},
  client = service.client(),
): Promise<Answer> => client.post(paths.acceptInvitation, { token, password: NEW, ...over });
const check = async (token: string) =>
  (await visitor.post(paths.check, { purpose: 'invitation', token })).body.data;
const again = (id: string) => admin.post(`/api/v1/users/${id}/invitation`);
const withdraw = (id: string) => admin.delete(`/api/v1/users/${id}/invitation`);
const login = (email: string, password: string) => visitor.post(LOGIN, { email, password });
const rowOf = async (email: string) =>
  (
    await service.sql<Record<string, unknown>>(
      `select first_name, last_name, verified, password_hash is not null as has_password, invited_at, invitation_hours,
         invitation_sent_at, invitation_expires_at from users where email = $1`,
      [email],
    )
  )[0];

test('an invitation is an account without a password, a mail and an audit entry', async () => {
  const role = await addRole(service, 'role.read');
  const email = newEmail('invited');
  const answer = await admin.post(INVITE, {
    email: ` ${email.toUpperCase()} `,
    first_name: 'Ada',
    role_id: [role],
    expires_in_hours: 3,
  });
  assert.equal(answer.status, 201, answer.text);
  const { data } = answer.body;
  assert.ok(Math.abs(Date.parse(data.invited_at) - Date.now()) < 60_000);
  assert.deepEqual(
    [data.email, data.first_name, data.last_name, data.verified, data.is_active, data.permissions],
    [email, 'Ada', '', false, true, ['role.read']],
  );
  assert.match(String(answer.headers.get('etag')), /^"/);
  const [event] = await eventsOf(service, answer);
  assert.equal(event?.action, 'user_invited');
  assert.deepEqual([event?.details.after?.email, event?.details.after?.expires_in_hours], [email, 3]);
  const token = await linkTo(service, email, 'invitation');
  assert.doesNotMatch(JSON.stringify(event), new RegExp(token));
  const [mail] = mailsTo(service, email, 'invitation');
  assert.match(mail?.text ?? '', /Hello Ada,/);
  assert.match(mail?.text ?? '', /for 3 hours/);
  const listed = await admin.get(`/api/v1/users?email=${email}&include=invitation`);
  const { sent_at, expires_at } = listed.body.data.items[0].invitation;
  assert.equal(Date.parse(expires_at) - Date.parse(sent_at), 3 * 3_600_000);
  assert.equal((await admin.get(`/api/v1/users/${data.id}`)).body.data.invited_at, data.invited_at);
});

test('the person checks the link, accepts once, and signs in', async () => {
  const { id, email, token } = await invited({ first_name: undefined, last_name: undefined });
  // The address of this service is none for passkeys.
  const state = { valid: true, already_verified: false, declinable: false, email, passkey: false };
  for (let asked = 0; asked < 2; asked += 1)
    assert.deepEqual(await check(token), { ...state, first_name: '', last_name: '' });
  for (const body of [{}, { first_name: 'Ada' }, { last_name: 'Lovelace' }]) {
    const answer = await accept(token, body);
    assertRefused(answer, 422, 'validation_failed');
    assert.ok(answer.body.errors.every(({ code }: { code: string }) => code === 'required'));
  }
  assertRefused(await accept(token, { first_name: '<b>', last_name: '' }), 400, 'invalid_input');
  const refused = await accept(token, { password: 'short', first_name: 'Ada', last_name: 'L' });
  assertRefused(refused, 400, 'password_rejected');
  assert.ok(refused.body.detail.errors.length > 1);
  assert.equal((await check(token)).valid, true, 'the link stays usable');

  const client = service.client();
  const accepted = await accept(token, { first_name: 'Grace', last_name: 'Hopper' }, client);
  assert.equal(accepted.status, 200, accepted.text);
  const { data } = accepted.body;
  assert.deepEqual(
    [data.id, data.first_name, data.last_name, data.verified, data.invited_at],
    [id, 'Grace', 'Hopper', true, null],
  );
  assert.doesNotMatch(accepted.headers.get('set-cookie') ?? '', /refresh_token|castellan_sso/);
  assert.deepEqual(await service.sql('select from sessions where user_id = $1', [id]), []);
  const events = await eventsOf(service, accepted);
  assert.deepEqual(
    events.map(({ action, actor_id, details }) => [action, actor_id, details.email]),
    [['invitation_accepted', id, email]],
  );
  assertRefused(await accept(token), 400, 'invitation_token_invalid');
  assert.deepEqual(await check(token), { valid: false, already_verified: true, declinable: false });
  const signedIn = await signIn(service, { email, password: NEW });
  assert.equal((await signedIn.get(paths.me)).body.data.invited_at, null);
  assert.deepEqual(
    [(await rowOf(email))?.invitation_expires_at, (await rowOf(email))?.invitation_hours],
    [null, null],
  );
});

test('names of the invitation stay unless the person sends others', async () => {
  const first = await invited();
  assert.deepEqual(
    [(await check(first.token)).first_name, (await check(first.token)).last_name],
    ['Ada', 'Lovelace'],
  );
  const { data } = (await accept(first.token)).body;
  assert.deepEqual([data.first_name, data.last_name], ['Ada', 'Lovelace']);
  const second = await invited();
  const renamed = (await accept(second.token, { last_name: '' })).body.data;
  assert.deepEqual([renamed.first_name, renamed.last_name], ['Ada', '']);
});

test('links of other purposes, expired, of somebody else or none are refused alike', async () => {
  const { id, email, token } = await invited();
  const answers = [await accept(NO_TOKEN), await accept('')];
  for (const [path, code] of [
    [paths.verify, 'verification_token_invalid'],
    [paths.confirmReset, 'reset_token_invalid'],
    [paths.decline, 'verification_token_invalid'],
  ] as const)
    assertRefused(await visitor.post(path, { token, new_password: NEW }), 400, code);
  for (const purpose of ['verify_email', 'reset_password'])
    assert.equal((await visitor.post(paths.check, { purpose, token })).body.data.valid, false);
  await service.sql('update one_time_tokens set expires_at = now() where user_id = $1', [id]);
  answers.push(await accept(token));
  for (const answer of answers) assertRefused(answer, 400, 'invitation_token_invalid');
  assert.equal(new Set(answers.map(({ body: { request_id: _, ...rest } }) => JSON.stringify(rest))).size, 1);
  assert.equal((await rowOf(email))?.has_password, false);
});

test('nobody signs in to an invited account, and the answers are those of an unknown address', async () => {
  const { id, email } = await invited();
  const unknown = newEmail('unknown');
  const answersFor = async (address: string) => {
    const answers: unknown[] = [];
    for (const password of [NEW, '', 'null', PASSWORD]) {
      const before = service.service.deps.hasher.stats().verifications;
      const { status, body } = await login(address, password);
      const { request_id: _, ...rest } = body;
      answers.push([status, rest, service.service.deps.hasher.stats().verifications - before]);
    }
    const locked = await login(address, NEW);
    const reset = await visitor.post(paths.requestReset, { email: address });
    const resent = await visitor.post(paths.resend, { email: address });
    for (const { status, body } of [locked, reset, resent])
      answers.push([status, body.code, body.message ?? body.detail]);
    return answers;
  };
  const answers = await answersFor(email);
  assert.deepEqual(answers, await answersFor(unknown));
  assert.match(JSON.stringify(answers), /account_locked/);
  const statements = async (address: string) => {
    const texts = await statementsOf(() => login(address, NEW));
    return texts.length;
  };
  const [one, other] = [await invited(), newEmail('unknown')];
  assert.equal(await statements(one.email), await statements(other));
  await waitForEmptyOutbox(service);
  assert.equal(mailsTo(service, email, 'account_locked').length, 0, 'there is nobody to warn');
  assertRefused(
    await visitor.post(paths.register, {
      email,
      password: PASSWORD,
      first_name: 'Eve',
      last_name: 'L',
    }),
    409,
    'email_taken',
  );
  assert.deepEqual(await service.sql('select from sessions where user_id = $1', [id]), []);
});

test('a reset and a verification mail for an invited address send the invitation again', async () => {
  const { email, token, id } = await invited({ expires_in_hours: 2 });
  await service.sql("update users set invitation_expires_at = now() - interval '1 day' where id = $1", [id]);
  let latest = token;
  for (const [index, path] of [paths.requestReset, paths.resend].entries()) {
    const asked = await visitor.post(path, { email });
    assert.equal(asked.status, 200);
    const [event] = await eventsOf(service, asked);
    assert.equal(event?.details.outcome, 'invited');
    const next = await linkTo(service, email, 'invitation', index + 1);
    assert.equal((await check(latest)).valid, false, 'the earlier link ended');
    assert.equal((await check(next)).valid, true);
    latest = next;
  }
  for (const kind of ['password_reset', 'verification'])
    assert.equal(mailsTo(service, email, kind).length, 0);
  assert.equal((await rowOf(email))?.invitation_hours, 2, 'a link of it works as long as the first');
  assert.equal((await accept(latest)).status, 200);
  await visitor.post(paths.requestReset, { email });
  await linkTo(service, email, 'password_reset');
});

test('an administrator sends an invitation again, up to the limit of the address', async () => {
  const { id, email, token } = await invited();
  const sent = await again(id);
  assert.equal(sent.status, 200, sent.text);
  assert.equal(sent.body.data.id, id);
  const [event] = await eventsOf(service, sent);
  assert.deepEqual([event?.action, event?.details.email], ['invitation_sent', email]);
  assert.equal((await check(token)).valid, false);
  const next = await linkTo(service, email, 'invitation', 1);
  // The first mail counted, too.
  for (let asked = 0; asked < 3; asked += 1) assert.equal((await again(id)).status, 200);
  const refused = await again(id);
  assertRefused(refused, 429, 'rate_limited');
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
  await waitForEmptyOutbox(service);
  const newest = mailsTo(service, email, 'invitation').at(-1)?.token ?? '';
  assert.equal((await check(next)).valid, false);
  assert.equal((await check(newest)).valid, true);
  assert.equal((await admin.put(`/api/v1/users/${id}`, { is_active: false })).status, 200);
  assertRefused(await again(id), 409, 'conflict');
});

test('invitations that are withdrawn and sent anew fill no mailbox', async () => {
  const email = newEmail('flooded');
  for (let asked = 0; asked < 7; asked += 1) {
    const { body } = await admin.post(INVITE, { email, first_name: 'Ada' });
    await waitForEmptyOutbox(service);
    assert.equal((await withdraw(body.data.id)).status, 200);
  }
  assert.equal(mailsTo(service, email, 'invitation').length, 5);
});

test('an invitation is withdrawn with its roles, and only until it is accepted', async () => {
  const role = await addRole(service, 'role.read');
  const { id, email, token } = await invited({ role_id: [role] });
  assertRefused(await admin.delete(`/api/v1/users/${id}`), 409, 'user_has_roles');
  const stale = await admin.delete(`/api/v1/users/${id}/invitation`, undefined, {
    headers: { 'if-match': '"99"' },
  });
  assertRefused(stale, 412, 'precondition_failed');
  const gone = await withdraw(id);
  assert.equal(gone.status, 200, gone.text);
  assert.equal(gone.body.data.email, email);
  const [event] = await eventsOf(service, gone);
  assert.deepEqual([event?.action, event?.resource_id], ['invitation_withdrawn', id]);
  assert.deepEqual(event?.details.before?.roles, [`Role ${role}`]);
  assert.deepEqual(await service.sql('select from user_roles where user_id = $1', [id]), []);
  assertRefused(await withdraw(id), 404, 'user_not_found');
  assertRefused(await again(ABSENT_ID), 404, 'user_not_found');
  assertRefused(await accept(token), 400, 'invitation_token_invalid');
  const fresh = await invited();
  assert.equal((await accept(fresh.token)).status, 200);
  assertRefused(await withdraw(fresh.id), 409, 'not_invited');
  assertRefused(await again(fresh.id), 409, 'not_invited');
  const person = await addPerson(service, { verified: false });
  assertRefused(await withdraw(person.id), 409, 'not_invited');
});

test('bad input invites nobody', async () => {
  const before = await service.sql<{ count: string }>('select count(*) from users');
  const email = newEmail();
  const cases: [body: unknown, code: string, status?: number][] = [
    [{}, 'invalid_input'],
    [{ email: 7 }, 'invalid_input'],
    [{ email: 'ada' }, 'invalid_email'],
    [{ email: 'ada@example.com\u0000' }, 'invalid_text'],
    [{ email, first_name: '<script>' }, 'invalid_input'],
    [{ email, first_name: '' }, 'invalid_input'],
    [{ email, last_name: 'x'.repeat(101) }, 'invalid_input'],
    [{ email, role_id: ['x'] }, 'invalid_id'],
    [{ email, role_id: [ABSENT_ID] }, 'role_not_found', 404],
    [{ email, expires_in_hours: 0 }, 'invalid_input'],
    [{ email, expires_in_hours: 721 }, 'invalid_input'],
    [{ email, expires_in_hours: 1.5 }, 'invalid_input'],
    [{ email, password: PASSWORD }, 'field_not_allowed'],
    [{ email, is_superuser: true }, 'field_not_allowed'],
    [{ email, verified: true }, 'field_not_allowed'],
    [{ email: ADMIN.email }, 'email_taken', 409],
  ];
  for (const [body, code, status = 400] of cases) {
    const answer = await admin.post(INVITE, body);
    assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(body));
  }
  for (const invitations of [undefined, [], {}, Array.from({ length: 501 }, () => ({ email }))])
    assertRefused(await admin.post(`${INVITE}/bulk`, { invitations }), 400, 'invalid_input');
  assert.deepEqual(await service.sql('select count(*) from users'), before);
  for (const body of [{}, { token: 7, password: NEW }, { token: NO_TOKEN }])
    assertRefused(await visitor.post(paths.acceptInvitation, body), 422, 'validation_failed');
});

test('an Idempotency-Key invites once', async () => {
  const headers = { 'idempotency-key': randomUUID() };
  const body = { email: newEmail('once'), first_name: 'Ada' };
  const first = await admin.post(INVITE, body, { headers });
  const second = await admin.post(INVITE, body, { headers });
  assert.deepEqual([first.status, second.status], [201, 201]);
  assert.equal(first.body.data.id, second.body.data.id);
});

test('nobody hands out more than they hold, or acts on those who hold more', async () => {
  const { client } = await signedInWith(service, 'users.create', 'users.delete', 'users.update', 'role.read');
  const mine = await addRole(service, 'role.read');
  const more = await addRole(service, 'role.delete');
  const email = newEmail('beyond');
  const allowed = await client.post(INVITE, { email: newEmail(), first_name: 'A', role_id: [mine] });
  assert.equal(allowed.status, 201, allowed.text);
  assertRefused(await client.post(INVITE, { email, role_id: [more] }), 403, 'privilege_escalation');
  const { data } = (
    await client.post(`${INVITE}/bulk`, {
      invitations: [
        { email, role_id: [mine, more] },
        { email: newEmail(), role_id: [mine] },
      ],
    })
  ).body;
  assert.equal(data.invited.length, 1);
  assert.deepEqual(
    data.refused.map(({ index, status, code }: Record<string, unknown>) => [index, status, code]),
    [[0, 403, 'privilege_escalation']],
  );
  assert.equal(await rowOf(email), undefined);
  const strong = await invited({ role_id: [more] });
  for (const answer of [
    await client.post(`/api/v1/users/${strong.id}/invitation`),
    await client.delete(`/api/v1/users/${strong.id}/invitation`),
  ])
    assertRefused(answer, 403, 'privilege_escalation');
  assert.equal((await check(strong.token)).valid, true);
  await service.sql('update users set is_superuser = true where id = $1', [strong.id]);
  assertRefused(await client.delete(`/api/v1/users/${strong.id}/invitation`), 403, 'superuser_required');
});

test('withdrawing takes no product permission that the caller lacks', async () => {
  const { client } = await signedInWith(service, 'users.delete');
  const group = (await admin.post('/api/v1/permission-groups', { name: `shop-${randomUUID()}` })).body.data;
  const permission = await admin.post('/api/v1/permissions', { name: 'refund', group_id: group.id });
  const role = await addRole(service, permission.body.data.name);
  const { id } = await invited({ role_id: [role] });
  assertRefused(await client.delete(`/api/v1/users/${id}/invitation`), 403, 'privilege_escalation');
  assert.equal((await withdraw(id)).status, 200);
});

test('in bulk, each row is invited whole or not at all', async () => {
  const role = await addRole(service, 'role.read');
  const [one, two] = [newEmail('row'), newEmail('row')];
  const answer = await admin.post(`${INVITE}/bulk`, {
    invitations: [
      { email: one, first_name: 'One', role_id: [role] },
      { email: 'nonsense' },
      { email: ADMIN.email },
      { email: one.toUpperCase() },
      { email: newEmail(), first_name: '<i>' },
      { email: newEmail(), role_id: [role, ABSENT_ID] },
      { email: two },
    ],
  });
  assert.equal(answer.status, 200, answer.text);
  const { invited: made, refused } = answer.body.data;
  assert.deepEqual(
    made.map(({ email }: { email: string }) => email),
    [one, two],
  );
  assert.deepEqual(
    refused.map(({ index, status, code }: Record<string, unknown>) => [index, status, code]),
    [
      [1, 400, 'invalid_email'],
      [2, 409, 'email_taken'],
      [3, 409, 'email_taken'],
      [4, 400, 'invalid_input'],
      [5, 404, 'role_not_found'],
    ],
  );
  assert.equal(refused[0].email, 'nonsense');
  assert.ok(refused.every(({ detail }: { detail: string }) => detail.length > 10));
  assert.deepEqual(
    (await eventsOf(service, answer)).map(({ action }) => action),
    ['user_invited', 'user_invited'],
  );
  for (const email of [one, two]) await linkTo(service, email, 'invitation');
  const none = await admin.post(`${INVITE}/bulk`, { invitations: [{ email: one }] });
  assert.deepEqual([none.status, none.body.data.invited], [200, []]);
});

test('in bulk, a row of the wrong form stops no other', async () => {
  const email = newEmail('row');
  const wrong: [row: unknown, code: string, field: string][] = [
    [{ first_name: 'Ada' }, 'invalid_input', 'email'],
    [{ email: 7 }, 'invalid_input', 'email'],
    [{ email: newEmail(), first_name: '' }, 'invalid_input', 'first_name'],
    [{ email: newEmail(), expires_in_hours: 721 }, 'invalid_input', 'expires_in_hours'],
    [{ email: newEmail(), role_ids: ['x'] }, 'invalid_id', 'role_id.0'],
    [{ email: newEmail(), role_ids: 'x' }, 'invalid_input', 'role_id'],
    [{ email: newEmail(), attributes: [] }, 'invalid_input', 'attributes'],
    ['ada@example.com', 'invalid_input', ''],
    [null, 'invalid_input', ''],
  ];
  const answer = await admin.post(`${INVITE}/bulk`, {
    invitations: [...wrong.map(([row]) => row), { email }],
  });
  assert.equal(answer.status, 200, answer.text);
  const { invited: made, refused } = answer.body.data;
  assert.deepEqual(
    made.map((one: { email: string }) => one.email),
    [email],
  );
  assert.deepEqual(
    refused.map(
      ({ index, status, code, errors }: Record<string, unknown> & { errors: { field: string }[] }) => [
        index,
        status,
        code,
        errors[0]?.field,
      ],
    ),
    wrong.map(([, code, field], index) => [
      index,
      400,
      code,
      ['invitations', index, field].filter((step) => step !== '').join('.'),
    ]),
  );
  assert.deepEqual(
    refused.map((one: { email: string }) => one.email),
    wrong
      .map(([row]) => (row as { email?: unknown } | null)?.email)
      .map((sent) => (typeof sent === 'string' ? sent : '')),
  );
});

test('500 rows cost as many statements as one', async (t) => {
  // Five hundred mails would keep the worker busy for long.
  await service.sql(`
    create function put_off() returns trigger language plpgsql as $$
    begin new.run_at := now() + interval '1 day'; return new; end $$;
    create trigger put_off before insert on outbox for each row execute function put_off()`);
  t.after(() => service.sql('drop trigger put_off on outbox; delete from outbox where sent_at is null'));
  const role = await addRole(service, 'role.read');
  const run = async (count: number) => {
    const invitations = Array.from({ length: count }, () => ({ email: newEmail('many'), role_id: [role] }));
    let answer: Answer | undefined;
    const texts = await statementsOf(async () => {
      answer = await admin.post(`${INVITE}/bulk`, { invitations });
    });
    assert.equal(answer?.body.data.invited.length, count, answer?.text.slice(0, 500));
    return texts.length;
  };
  await run(2);
  assert.equal(await run(500), await run(2));
});

test('of 30 who accept at once, one wins', async () => {
  const { email, token } = await invited();
  const answers = await atOnce(service, 30, (client, index) =>
    accept(token, { password: index % 2 === 0 ? NEW : OTHER }, client),
  );
  assert.deepEqual(tally(answers), { 200: 1, 400: 29 });
  for (const answer of answers)
    if (answer.status === 400) assert.equal(answer.body.code, 'invitation_token_invalid');
  const winner = answers.findIndex(({ status }) => status === 200);
  await signIn(service, { email, password: winner % 2 === 0 ? NEW : OTHER });
  const accepted = await service.sql(
    "select from audit_logs where action = 'invitation_accepted' and details->>'email' = $1",
    [email],
  );
  assert.equal(accepted.length, 1);
});

test('an invitation that is accepted while it is withdrawn is either', async () => {
  for (let round = 0; round < 4; round += 1) {
    const { id, email, token } = await invited();
    const [accepted, withdrawn] = await Promise.all([accept(token), withdraw(id)]);
    assert.equal(Number(accepted.status === 200) + Number(withdrawn.status === 200), 1);
    if (accepted.status === 200) {
      assertRefused(withdrawn, 409, 'not_invited');
      assert.equal((await rowOf(email))?.has_password, true);
    } else {
      assertRefused(accepted, 400, 'invitation_token_invalid');
      assert.equal(await rowOf(email), undefined);
    }
  }
});

test('of 10 who invite one address at once, one does', async () => {
  const email = newEmail('raced');
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      index % 2 === 0
        ? admin.post(INVITE, { email })
        : admin.post(`${INVITE}/bulk`, { invitations: [{ email: newEmail() }, { email }] }),
    ),
  );
  const wins = answers.filter(
    ({ status, body }) =>
      status === 201 || body.data?.invited?.some((one: { email: string }) => one.email === email),
  );
  assert.equal(wins.length, 1);
  assert.ok(answers.every(({ status }) => [200, 201, 409].includes(status)));
  await linkTo(service, email, 'invitation');
});

test('a password by an administrator accepts for the person', async () => {
  const { id, email, token } = await invited({ first_name: undefined, last_name: undefined });
  const set = await admin.put(`/api/v1/users/${id}`, { password: NEW });
  assert.equal(set.status, 200, set.text);
  const { data } = set.body;
  assert.deepEqual([data.invited_at, data.verified, data.first_name], [null, false, email.split('@')[0]]);
  assert.deepEqual((await eventsOf(service, set)).map(({ action }) => action).sort(), [
    'invitation_accepted',
    'password_set_by_admin',
  ]);
  assertRefused(await accept(token), 400, 'invitation_token_invalid');
  assertRefused(await login(email, NEW), 422, 'email_not_verified');
  const other = await invited();
  const verified = await admin.put(`/api/v1/users/${other.id}`, { password: NEW, verified: true });
  assert.deepEqual([verified.body.data.invited_at, verified.body.data.verified], [null, true]);
  await signIn(service, { email: other.email, password: NEW });
});

test('a verified user is no longer invited, and chooses a password by a reset', async () => {
  const { id, email, token } = await invited();
  const answer = await admin.put(`/api/v1/users/${id}`, { verified: true });
  assert.deepEqual([answer.body.data.verified, answer.body.data.invited_at], [true, null]);
  const [event] = await eventsOf(service, answer);
  assert.equal(event?.details.after?.invited_at, null);
  assertRefused(await accept(token), 400, 'invitation_token_invalid');
  assertRefused(await login(email, NEW), 422, 'invalid_credentials');
  await visitor.post(paths.requestReset, { email });
  const reset = await linkTo(service, email, 'password_reset');
  assert.equal((await visitor.post(paths.confirmReset, { token: reset, new_password: NEW })).status, 200);
  await signIn(service, { email, password: NEW });
});

test("an administrator's act on access ends the link; one on names and roles does not", async () => {
  const role = await addRole(service, 'role.read');
  const put = (fields: object) => (id: string) => admin.put(`/api/v1/users/${id}`, fields);
  const acts: [name: string, run: (id: string) => Promise<Answer>, ends: boolean][] = [
    ['email', (id) => put({ email: newEmail('moved') })(id), true],
    ['deactivation', put({ is_active: false }), true],
    [
      'bulk deactivation',
      (id) => admin.put('/api/v1/users/bulk-update', { user_ids: [id], updates: { is_active: false } }),
      true,
    ],
    ['sessions', (id) => admin.delete(`/api/v1/users/${id}/sessions`), true],
    ['names', put({ first_name: 'Grace' }), false],
    ['roles', (id) => admin.post(`/api/v1/users/${id}/roles`, [role]), false],
    ['superuser', put({ is_superuser: true }), false],
  ];
  for (const [name, run, ends] of acts) {
    const { id, email, token } = await invited();
    const answer = await run(id);
    assert.equal(answer.status, 200, `${name}: ${answer.text}`);
    await service.sql('update users set is_active = true, email = $2 where id = $1', [id, email]);
    assert.equal((await check(token)).valid, !ends, name);
    assert.equal((await accept(token)).status, ends ? 400 : 200, name);
    if (!ends) continue;
    const { body } = await admin.get(`/api/v1/users?email=${email}&invitation=ended`);
    assert.equal(body.data.total, 1, `${name}: the list shows that it ended`);
    assert.equal((await again(id)).status, 200);
    const next = await linkTo(service, email, 'invitation', 1);
    assert.equal((await accept(next)).status, 200, `${name}: a new link works`);
  }
});

test('lists and the dashboard tell open invitations from ended ones', async () => {
  const open = await invited();
  const ended = await invited();
  await service.sql("update users set invitation_expires_at = now() - interval '1 minute' where id = $1", [
    ended.id,
  ]);
  const plain = await addPerson(service);
  const idsOf = async (query: string): Promise<Set<string>> => {
    const ids = new Set<string>();
    for (let page = 1; ; page += 1) {
      const { data } = (await admin.get(`/api/v1/users?${query}&size=100&page=${page}`)).body;
      for (const { id } of data.items) ids.add(id);
      if (page >= data.pages) return ids;
    }
  };
  const has = async (query: string) => {
    const ids = await idsOf(query);
    return [open, ended, plain].map(({ id }) => ids.has(id));
  };
  assert.deepEqual(await has('invited=true'), [true, true, false]);
  assert.deepEqual(await has('invited=false'), [false, false, true]);
  assert.deepEqual(await has('invitation=open'), [true, false, false]);
  assert.deepEqual(await has('invitation=ended'), [false, true, false]);
  assert.deepEqual(await has('invited=true&status=unverified'), [true, true, false]);
  assertRefused(await admin.get('/api/v1/users?invited=maybe'), 422, 'validation_failed');
  const { items } = (await admin.get('/api/v1/dashboard/attention')).body.data;
  const item = items.find(({ code }: { code: string }) => code === 'invitations_ended');
  assert.equal(item.count, (await idsOf('invitation=ended')).size);
  assert.equal(item.filter.path, '/api/v1/users?invitation=ended');
  const listed = await admin.get(`/api/v1/users?email=${plain.email}&include=invitation`);
  assert.equal(listed.body.data.items[0].invitation, null);
});

test('the clean-up removes no invited account', async () => {
  const { id, email } = await invited();
  await service.sql("update users set created_at = now() - interval '2 years' where id = $1", [id]);
  await removeUnverifiedAccounts(service.service.deps, 1);
  assert.ok(await rowOf(email));
});

test('a decision about an invited person is that about an active account', async () => {
  const role = await addRole(service, 'role.read');
  const { id } = await invited({ role_id: [role] });
  const { body } = await admin.post('/api/v1/access/v1/evaluation', {
    subject: { type: 'user', id },
    action: { name: 'read' },
    resource: { type: 'role', id: role },
  });
  assert.equal(body.decision, true, JSON.stringify(body));
});
