// A stolen refresh token used from another network, with headers that claim the owner's network.
// It must not test which networks count as one: see the tests of sessions.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { scenariosOf } from '@castellan/testing/scenario';
import { addUser, isAccepted } from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { openPair } from '../fixture.ts';
import { assertUniformRefusal, entryPoints, openBrowser } from './entry-points.ts';

const scenario = scenariosOf('tokens');
const { service, twin } = await openPair({ after }, { TRUSTED_PROXIES: '127.0.0.1' });
const browser = await openBrowser(service);

const HOME = '198.51.100.20';
const FAR = '203.0.113.20';
// As a proxy forwards them: the address that it saw comes last, after anything the thief wrote.
const disguises: string[][] = [
  [`x-forwarded-for: ${FAR}`],
  [`x-forwarded-for: ${HOME}, ${FAR}`],
  [`x-forwarded-for: ${HOME}`, `x-forwarded-for: ${FAR}`],
  [`x-forwarded-for: ${HOME}, ${HOME}, ${FAR}`],
  [`x-forwarded-for: ${FAR}`, `x-real-ip: ${HOME}`],
  [`x-forwarded-for: ${FAR}`, `forwarded: for=${HOME}`],
  [`x-forwarded-for: ${FAR}`, `x-client-ip: ${HOME}`, `cf-connecting-ip: ${HOME}`, `true-client-ip: ${HOME}`],
  [`x-forwarded-for: ${FAR}`, `x-original-forwarded-for: ${HOME}`, `x-cluster-client-ip: ${HOME}`],
  [`x-forwarded-for: 127.0.0.1, ${FAR}`],
  [`x-forwarded-for: ::ffff:${HOME}, ::ffff:${FAR}`],
  ['x-forwarded-for: 2001:db8::1'],
];

scenario(
  'a refresh token taken to another network is refused there, and afterwards everywhere',
  async (tally) => {
    for (const entryPoint of entryPoints.filter(({ kind }) => kind === 'refresh'))
      for (const lines of disguises) {
        const user = await addUser(service);
        const client = service.client();
        const credentials = { email: user.email, password: user.password };
        const { body } = await client.post('/api/v1/auth/login', credentials, {
          headers: { 'x-forwarded-for': HOME },
        });
        const { access_token: access, refresh_token: refresh } = body.data;
        const from = (more: string[]) => ({ ...browser, lines: more });
        const answer = await entryPoint.present(twin.url, from(lines), refresh);
        assertUniformRefusal(answer, 'refresh_token_invalid', `${lines.join()}, at ${entryPoint.name}`);
        const atHome = await entryPoint.present(service.url, from([`x-forwarded-for: ${HOME}`]), refresh);
        assertUniformRefusal(atHome, 'refresh_token_invalid', `${lines.join()}, then from the home network`);
        assert.equal(await isAccepted(service, access), false, lines.join());
        assert.equal(
          (await eventsOf(service, 'refresh_origin_network_mismatch', user)).length,
          1,
          lines.join(),
        );
        tally.tried(2);
        tally.held(4);
      }
  },
);
