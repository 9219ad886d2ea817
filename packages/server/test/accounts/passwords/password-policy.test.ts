// GET /auth/password-policy: the rules in force, as refusals report them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADMIN, newEmail, signIn, startTestService, type TestService } from '@castellan/testing/harness';
import { addPerson } from '@castellan/testing/users/people';
import { assertAnswered, assertPasswordRefused } from '../answers.ts';

type Rule = { code: string; message: string; parameters: Record<string, unknown> };

async function rulesOf(service: TestService): Promise<Rule[]> {
  const answer = await service.client().get('/api/v1/auth/password-policy');
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  return assertAnswered(answer).rules;
}

const parametersOf = (rules: readonly Rule[], code: string) =>
  rules.find((rule) => rule.code === code)?.parameters;

test('anyone reads the rules, and every refusal lists broken ones in their order and words', async (t) => {
  const service = await startTestService(t);
  const rules = await rulesOf(service);
  const messages = rules.map(({ message }) => message);
  for (const password of [
    '',
    'aaa',
    'abc',
    'password',
    'Dragon2031!!',
    '1'.repeat(200),
    `Ab1${'!'.repeat(129)}`,
  ]) {
    const errors = assertPasswordRefused(
      await service.client().post('/api/v1/auth/register', {
        email: newEmail(),
        password,
        first_name: 'Ada',
        last_name: 'Lovelace',
      }),
    );
    assert.deepEqual(
      errors,
      messages.filter((message) => errors.includes(message)),
      password,
    );
  }
});

test('the last rule is that of former passwords', async (t) => {
  const service = await startTestService(t);
  const person = await addPerson(service);
  const client = await signIn(service, person);
  const errors = assertPasswordRefused(
    await client.post('/api/v1/auth/change_password', {
      current_password: person.password,
      new_password: person.password,
    }),
  );
  const last = (await rulesOf(service)).at(-1);
  assert.deepEqual([last?.code, errors], ['reused', [last?.message]]);
});

test('the parameters are the settings in force', async (t) => {
  const service = await startTestService(t);
  const rules = await rulesOf(service);
  assert.deepEqual(parametersOf(rules, 'too_short'), { min_length: 12 });
  assert.deepEqual(parametersOf(rules, 'too_long'), { max_length: 128 });
  assert.deepEqual(parametersOf(rules, 'too_weak'), { min_strength: 3 });
  assert.deepEqual(parametersOf(rules, 'reused'), { history_count: 5 });

  const other = await service.another({
    PASSWORD_MIN_LENGTH: '9',
    PASSWORD_MIN_STRENGTH: '0',
    PASSWORD_HISTORY_COUNT: '0',
  });
  const changed = await rulesOf(other);
  assert.deepEqual(parametersOf(changed, 'too_short'), { min_length: 9 });
  assert.equal(parametersOf(changed, 'too_weak'), undefined);
  assert.deepEqual(parametersOf(changed, 'reused'), { history_count: 0 });
  const admin = await signIn(other, ADMIN);
  const body = { email: newEmail(), first_name: 'Ada', last_name: 'Lovelace' };
  assertPasswordRefused(await admin.post('/api/v1/users', { ...body, password: 'Kiosk7!q' }));
  assertAnswered(await admin.post('/api/v1/users', { ...body, password: 'Kiosk7!qq' }), 201);
});
