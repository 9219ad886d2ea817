// The applications that one uses, in one's own account.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, createVerifiedUser, PASSWORD, signIn } from '@castellan/testing/harness';
import { addApplication, applicationTokens } from '@castellan/testing/openid/tokens';
import { assertAccessible, assertPageAccessible } from '../../accessibility.ts';
import { openAs, startConsole } from '../../harness.ts';
import { photograph } from '../../pictures.ts';

const site = await startConsole({ after });
const { service } = site;
const admin = await signIn(service, ADMIN);

async function newPerson(): Promise<{ id: string; email: string; password: string }> {
  const { id, email } = await createVerifiedUser(service);
  await signIn(service, { email, password: PASSWORD });
  return { id, email, password: PASSWORD };
}

test('an application is listed with what it may do, and loses all of it', async (t) => {
  const as = await newPerson();
  const application = await addApplication(service, admin, {
    name: 'Grafana',
    first_party: false,
    home_url: 'https://grafana.example.com/',
    policy_url: 'https://grafana.example.com/privacy',
  });
  const tokens = await applicationTokens(service, application, as.id, {
    scopes: ['openid', 'email', 'offline_access'],
  });
  assert.ok(tokens.access_token);
  await service.sql(
    `insert into consents (user_id, application_id, scopes, permission_ids, agreed_at)
     select $1, $2, '{openid,email}', array_agg(id), now() from permissions where name = 'role.read'`,
    [as.id, application.id],
  );
  const { page } = await openAs(t, site, '/account', { as });
  const section = page.getByRole('region', { name: 'Applications I use' });
  const item = section.getByRole('listitem', { name: 'Grafana' });
  await item
    .getByText('Know that it is you · Read your email address · Keep this access when you are not there')
    .waitFor();
  for (const text of ['In your name:', 'role.read']) await item.getByText(text).waitFor();
  await item.getByText(/^You agreed on /).waitFor();
  for (const [name, address] of [
    ['Grafana', 'https://grafana.example.com/'],
    ['Privacy policy', 'https://grafana.example.com/privacy'],
  ] as const)
    assert.equal(await item.getByRole('link', { name }).getAttribute('href'), address);
  await assertPageAccessible(page, 'the account with applications', async (scheme, { width }) => {
    await section.scrollIntoViewIfNeeded();
    await photograph(page, `account-applications-${scheme}-${width}`);
  });
  await item.getByRole('button', { name: 'Take back the access of Grafana' }).click();
  const dialog = page.getByRole('dialog', { name: 'Take back the access of Grafana?' });
  await assertAccessible(page, 'the question before access is taken back');
  await dialog.getByRole('button', { name: 'Take back' }).click();
  await page.getByText('Grafana no longer has access.').waitFor();
  await section.getByText('You have not signed in to an application with this account.').waitFor();
  const { body } = await admin.get(`/api/v1/applications/${application.id}/grants`);
  assert.deepEqual(body.data, []);
  assert.deepEqual(await service.sql('select 1 from consents where user_id = $1', [as.id]), []);
});

test('what was agreed to, and is not used now, says so', async (t) => {
  const as = await newPerson();
  const application = await addApplication(service, admin, { name: 'Wiki', first_party: false });
  await service.sql(
    `insert into consents (user_id, application_id, scopes, permission_ids, agreed_at)
     values ($1, $2, '{openid}', '{}', now())`,
    [as.id, application.id],
  );
  const { page } = await openAs(t, site, '/account', { as, expected: ['404'] });
  const item = page.getByRole('listitem', { name: 'Wiki' });
  await item.getByText('No access now').waitFor();
  await item.getByText('Know that it is you').waitFor();
  // It is gone before the person confirms: as good as taken back.
  await item.getByRole('button').click();
  await service.sql('delete from consents where user_id = $1', [as.id]);
  await page.getByRole('dialog').getByRole('button', { name: 'Take back' }).click();
  await page.getByText('Wiki no longer has access.').waitFor();
});
