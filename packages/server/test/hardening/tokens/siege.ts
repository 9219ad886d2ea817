// Tries a table of forgeries at every door of two instances, and looks afterwards at what they moved.
// It must not know how a token was forged: only what each door may answer.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TokenClaims, TokenKind } from '../../../src/platform/security/jwt.ts';
import { ADMIN, type Hooks, signIn, type TestService } from '../../harness.ts';
import { addUser, isAccepted, isRefreshable } from '../../sessions/accounts.ts';
import { hashOf, readToken } from '../../sessions/own-tokens.ts';
import { openPair } from '../fixture.ts';
import type { Tally } from '../scenario.ts';
import { assertTurnedAway, type Browser, type Door, doors, logOutWith, openBrowser } from './doors.ts';
import { type Base, baseOf, sealed, unlistedTwin, withMembers } from './forge.ts';

export type Forgery = {
  name: string;
  make(base: Base): string;
  /** What an access token is refused with; `token_invalid` unless said. A refresh token has one code only. */
  code?: 'token_invalid' | 'token_revoked' | 'token_expired';
  /** `body`: in a header field or a cookie the transport takes this spelling away, and the token is the real one. */
  only?: 'body';
};

export type Siege = {
  service: TestService;
  twin: TestService;
  browser: Browser;
  bases: Record<TokenKind, Base>;
  /** One more session of the same user, and the claims of a session of somebody else. */
  plantSession(): Promise<{ claims: TokenClaims; stranger: TokenClaims }>;
  /** Each forgery made of the given-out tokens, or of ones that our key signed and that are on no list. */
  storm(tally: Tally, forgeries: readonly Forgery[], options?: StormOptions): Promise<void>;
};
export type StormOptions = {
  of?: 'given-out' | 'unlisted';
  /** One door of each kind by turns, for tables whose rows differ little. */
  byTurns?: boolean;
};

/** The tokens are the first superuser's: whatever opens a door to them opens every door. */
export async function openSiege(hooks: Hooks): Promise<Siege> {
  const { service, twin } = await openPair(hooks);
  const owner = await signIn(service, ADMIN);
  const access = await baseOf(service, owner.accessToken as string);
  const refresh = await baseOf(service, owner.refreshToken as string);
  const browser = await openBrowser(service);
  const bases = { access, refresh };

  async function storm(
    tally: Tally,
    forgeries: readonly Forgery[],
    options: StormOptions = {},
  ): Promise<void> {
    const sessions = await liveSessions(service);
    const [from, sent] = [[service, twin].map((one) => one.logLines.length), new Set<string>()];
    for (const [index, forgery] of forgeries.entries()) {
      const url = index % 2 ? service.url : twin.url;
      const made = (kind: TokenKind): string => {
        const base = options.of === 'unlisted' ? unlistedTwin(bases[kind]) : bases[kind];
        const token = forgery.make(base);
        assert.notEqual(token, bases[kind].token, `${forgery.name} is the token itself`);
        sent.add(token);
        return token;
      };
      for (const door of doorsFor(forgery, index, options.byTurns ?? false)) {
        const answer = await door.knock(url, browser, made(door.kind));
        assertRefused(answer, door, forgery);
        tally.tried();
        tally.held();
      }
      if (forgery.only !== 'body' && (!options.byTurns || index % 4 === 0))
        await assertNotLoggedOut(url, browser, service, access, made('refresh'), tally, forgery);
    }
    assert.deepEqual(await liveSessions(service), sessions, 'a forgery ended or began a session');
    assert.ok(await isAccepted(service, access.token), 'the real access token');
    assert.ok(await isRefreshable(twin, refresh.token), 'the real refresh token');
    tally.held(3 + (await assertUnrecorded([service, twin], from, sent)));
  }
  return {
    service,
    twin,
    browser,
    bases,
    storm,
    async plantSession() {
      const planted = await plantSession(service, access);
      const other = await signIn(service, await addUser(service));
      return {
        claims: readToken(planted.accessToken).claims,
        stranger: readToken(other.accessToken as string).claims,
      };
    },
  };
}

const turn = <T>(list: readonly T[], index: number): T[] => list.slice(index % list.length).slice(0, 1);

function doorsFor(forgery: Forgery, index: number, byTurns: boolean): Door[] {
  const open = doors.filter(({ carrier }) => forgery.only === undefined || carrier === forgery.only);
  if (!byTurns) return open;
  const ofKind = (kind: TokenKind): Door[] => open.filter((door) => door.kind === kind);
  return [...turn(ofKind('access'), index), ...turn(ofKind('refresh'), index)];
}

function assertRefused(answer: Answer, door: Door, forgery: Forgery): void {
  const what = `${forgery.name}, at ${door.name}`;
  if (door.kind === 'access') assertTurnedAway(answer, forgery.code ?? 'token_invalid', what);
  else assertTurnedAway(answer, 'refresh_token_invalid', what);
}
type Answer = Awaited<ReturnType<Door['knock']>>;

const liveSessions = async (service: TestService): Promise<string[]> => {
  const rows = await service.sql<{ id: string }>(
    'select id from sessions where revoked_at is null order by created_at, id',
  );
  return rows.map(({ id }) => id);
};

/** A logout whose cookie is a forgery ends the session of its access token, never the one that the cookie claims. */
async function assertNotLoggedOut(
  url: string,
  browser: Browser,
  service: TestService,
  owner: Base,
  forged: string,
  tally: Tally,
  { name }: Forgery,
): Promise<void> {
  const other = await plantSession(service, owner);
  const answer = await logOutWith(url, browser, other.accessToken, forged);
  assert.equal(answer.status, 200, `${name}, at logout: ${answer.text}`);
  const rows = await service.sql<{ id: string }>(
    'select id from sessions where id = any($1) and revoked_at is null',
    [[other.id, owner.claims.sid]],
  );
  assert.deepEqual(rows, [{ id: owner.claims.sid }], `${name}, at logout`);
  tally.tried();
  tally.held();
}

/** One more session of the owner, written as a login writes it: a login for each forgery would cost its password. */
export async function plantSession(
  service: TestService,
  owner: Base,
): Promise<{ id: string; accessToken: string }> {
  const [id, jti] = [randomUUID(), randomUUID()];
  const accessToken = sealed(owner, owner.header, withMembers(owner.payload, { jti, sid: id }));
  await service.sql(
    `with session as (
       insert into sessions (id, user_id, expires_at) values ($1, $2, now() + interval '1 hour') returning id)
     insert into session_tokens (user_id, token_hash, session_id, kind, jti, key_id, issued_at, expires_at)
     select $2, $3, id, 'access', $4, $5, now(), now() + interval '1 hour' from session`,
    [id, owner.claims.sub, hashOf(accessToken), jti, owner.kid],
  );
  return { id, accessToken };
}

// Shorter pieces stand in every log: the beginning of a header, a word.
const TELLING_LENGTH = 24;

/** That no part of these tokens is in a log line or in the audit log; answers how many statements that is. */
export async function assertUnrecorded(
  instances: readonly TestService[],
  from: readonly number[],
  tokens: Iterable<string>,
): Promise<number> {
  const parts = new Set([...tokens].flatMap((token) => token.split(/[.\s]+/)));
  const lines = instances.flatMap(({ logLines }, index) => logLines.slice(from[index])).join('\n');
  const audit = await instances[0]!.sql<{ text: string }>('select details::text as text from audit_logs');
  const written = `${lines}\n${audit.map(({ text }) => text).join('\n')}`;
  for (const part of parts)
    if (part.length >= TELLING_LENGTH)
      assert.equal(written.includes(part.slice(0, 200)), false, `recorded: ${part.slice(0, 200)}`);
  return 1;
}
