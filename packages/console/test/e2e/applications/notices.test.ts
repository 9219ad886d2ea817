// What an application was told of sign-outs, and why some of it did not arrive.
import { after, test } from 'node:test';
import { ADMIN, signIn } from '@castellan/testing/harness';
import { addApplication } from '@castellan/testing/openid/tokens';
import { addPerson } from '@castellan/testing/users/people';
import { assertPageAccessible } from '../../accessibility.ts';
import { openAs, startConsole } from '../../harness.ts';
import { photograph } from '../../pictures.ts';

const site = await startConsole({ after });
const { service } = site;
const admin = await signIn(service, ADMIN);

test('notices say in words why they did not arrive', async (t) => {
  const application = await addApplication(service, admin, {
    name: 'Told',
    backchannel_logout_url: 'https://app.example.com/logout',
  });
  const person = await addPerson(service);
  await service.sql(
    `insert into logout_notices (application_id, user_id, sid, reason, state, attempts, status, error)
     values ($1, $2, 'one', 'session', 'refused', 1, 400, null),
            ($1, $2, 'two', 'session', 'given_up', 90, null, 'ECONNREFUSED')`,
    [application.id, person.id],
  );
  const { page } = await openAs(t, site, `/applications/${application.id}?tab=notices`);
  await page.getByText('It refused the notice with the status 400.').waitFor();
  await page.getByText('Nothing listens at its address.').waitFor();
  await page.getByLabel('State').selectOption('refused');
  await page.getByText('Nothing listens at its address.').waitFor({ state: 'detached' });
  await assertPageAccessible(page, 'notices', (scheme, { width }) =>
    photograph(page, `application-notices-${scheme}-${width}`),
  );
});
