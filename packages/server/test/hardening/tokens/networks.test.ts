// A refresh token that was taken to another network, by a thief who says that he is still at home.
// It must not look at which networks count as one: that stands with the tests of sessions.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { addUser, isAccepted } from '../../sessions/accounts.ts';
import { eventsOf } from '../../sessions/audit-events.ts';
import { openPair } from '../fixture.ts';
import { scenariosOf } from '../scenario.ts';
import { assertTurnedAway, doors, openBrowser } from './doors.ts';

const scenario = scenariosOf('tokens');
const { service, twin } = await openPair({ after }, { TRUSTED_PROXIES: '127.0.0.1' });
const browser = await openBrowser(service);

const HOME = '198.51.100.20';
const FAR = '203.0.113.20';
// As the proxy passes them on: the address that it saw comes last, whatever the thief wrote before.
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
  'a refresh token taken to another network is worth nothing there, nor at home after that',
  async (tally) => {
    for (const door of doors.filter(({ kind }) => kind === 'refresh'))
      for (const lines of disguises) {
        const user = await addUser(service);
        const client = service.client();
        const credentials = { email: user.email, password: user.password };
        const { body } = await client.post('/api/v1/auth/login', credentials, {
          headers: { 'x-forwarded-for': HOME },
        });
        const { access_token: access, refresh_token: refresh } = body.data;
        const from = (more: string[]) => ({ ...browser, lines: more });
        const answer = await door.knock(twin.url, from(lines), refresh);
        assertTurnedAway(answer, 'refresh_token_invalid', `${lines.join()}, at ${door.name}`);
        const atHome = await door.knock(service.url, from([`x-forwarded-for: ${HOME}`]), refresh);
        assertTurnedAway(atHome, 'refresh_token_invalid', `${lines.join()}, then at home`);
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
