// Every statement of the hot path names the user whose rows it reads or writes, so that a database which is distributed
// by user sends it to one node. docs/operate/grow.md relies on it.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createVerifiedUser, signIn, startTestService } from '@castellan/testing/harness';
import { statementsOf } from '@castellan/testing/statements';

/** The tables that grow with the users, each with the column that says whose row it is. */
const keys: Readonly<Record<string, string>> = {
  users: 'id',
  user_roles: 'user_id',
  last_logins: 'user_id',
  sessions: 'user_id',
  session_tokens: 'user_id',
  session_ends: 'user_id',
};
/** Before a sign-in, the email is all that is known: the one lookup that a distributed database answers with an index. */
const byEmail = /\bfrom users where email = \$\d+/g;

/** Returns the tables of users that the statement uses without naming the user. */
function unpinned(statement: string): string[] {
  const text = statement.replace(/\s+/g, ' ').trim().replace(byEmail, '');
  const uses = [
    ...text.matchAll(
      /\b(?:from|join|update|delete from) "?(\w+)"?(?: (?:as )?(?!where\b|set\b|on\b)(\w+))?/g,
    ),
  ];
  return uses
    .filter(([, table = '', alias]) => {
      const key = keys[table];
      if (key === undefined) return false;
      const column = alias === undefined || !text.includes(`${alias}.`) ? `"?${key}"?` : `${alias}\\.${key}`;
      const other = '(?:any\\()?(?:\\$\\d+|\\w+\\.\\w+)';
      return !new RegExp(`(?:^|[^.\\w])${column} = ${other}|= ${column}(?:\\W|$)`).test(text);
    })
    .map(([, table = '']) => `${table}: ${text}`);
}

const service = await startTestService({ after });
const user = await createVerifiedUser(service);
const client = await signIn(service, user);

const hot: Readonly<Record<string, () => Promise<unknown>>> = {
  'a sign-in': () => signIn(service, user),
  'the own record': () => client.get('/api/v1/users/me'),
  'a decision': () =>
    client.post('/api/v1/access/v1/evaluation', {
      subject: { type: 'user', id: user.id },
      action: { name: 'user.read' },
      resource: { type: 'castellan' },
    }),
  'a refresh': () => client.post('/api/v1/auth/refresh', { refresh_token: client.refreshToken }),
  'a sign-out': () => client.post('/api/v1/auth/logout', { refresh_token: client.refreshToken }),
};

for (const [name, request] of Object.entries(hot))
  test(`each statement of ${name} names the user`, async () => {
    const statements = await statementsOf(request);
    assert.ok(statements.some((text) => /\b(users|sessions|session_tokens)\b/.test(text)));
    assert.deepEqual(statements.flatMap(unpinned), []);
  });

test('a statement that names no user is found', () => {
  assert.equal(unpinned('select from sessions where id = $1 for no key update').length, 1);
  assert.equal(unpinned('update sessions s set revoked_at = now() where s.id = $1').length, 1);
  assert.equal(
    unpinned('select from session_tokens t join sessions s on s.id = t.session_id where t.user_id = $1')
      .length,
    1,
  );
  assert.deepEqual(unpinned('select from users u where u.id = $1'), []);
});
