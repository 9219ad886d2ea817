// Sends a table of forged tokens to every entry point of two instances, and checks afterwards that they changed
// nothing. It must not know how a token was forged, only what each entry point may answer.
import assert from 'node:assert/strict';
import { randomUUID, verify } from 'node:crypto';
import type { SessionClaims, TokenKind } from '@castellan/server/platform/security/jwt';
import { ADMIN, type Hooks, signIn, type TestService } from '@castellan/testing/harness';
import { isFull, type Tally } from '@castellan/testing/scenario';
import { addUser, isAccepted, isRefreshable } from '@castellan/testing/sessions/accounts';
import { hashOf, readToken } from '@castellan/testing/sessions/own-tokens';
import { openPair } from '../fixture.ts';
import {
  assertUniformRefusal,
  type Browser,
  type EntryPoint,
  entryPoints,
  logOutWith,
  openBrowser,
} from './entry-points.ts';
import { type Base, baseOf, sealed, unlistedTwin, withMembers } from './forge.ts';

export type Forgery = {
  name: string;
  make(base: Base): string;
  /** The refusal of an access token; `token_invalid` by default. A refresh token has only one code. */
  code?: 'token_invalid' | 'token_revoked' | 'token_expired';
  /** `body`: a header field or cookie would lose this spelling in transport and carry the real token. */
  only?: 'body';
};

export type ForgeryTarget = {
  service: TestService;
  twin: TestService;
  browser: Browser;
  bases: Record<TokenKind, Base>;
  /** Adds a session of the same user. Returns its claims, and those of a session of another user. */
  addSession(): Promise<{ claims: SessionClaims; stranger: SessionClaims }>;
  /**
   * Sends each forgery. They are made from issued tokens, or from tokens that our key signed but the allowlist lacks.
   */
  tryAll(tally: Tally, forgeries: readonly Forgery[], options?: TryOptions): Promise<void>;
};
type TryOptions = {
  of?: 'issued' | 'unlisted';
  /** Uses one entry point of each kind in turn, also in a full run: for tables whose rows differ little. */
  byTurns?: boolean;
};

/** The tokens are those of the first superuser, so that no missing permission hides an accepted forgery. */
export async function openForgeryTarget(hooks: Hooks): Promise<ForgeryTarget> {
  const { service, twin } = await openPair(hooks);
  const owner = await signIn(service, ADMIN);
  const access = await baseOf(service, owner.accessToken as string);
  const refresh = await baseOf(service, owner.refreshToken as string);
  const browser = await openBrowser(service);
  const bases = { access, refresh };

  async function tryAll(
    tally: Tally,
    forgeries: readonly Forgery[],
    options: TryOptions = {},
  ): Promise<void> {
    const byTurns = !isFull || (options.byTurns ?? false);
    const sessions = await liveSessions(service);
    const [from, sent] = [[service, twin].map((one) => one.logLines.length), new Set<string>()];
    for (const [index, forgery] of forgeries.entries()) {
      const url = index % 2 ? service.url : twin.url;
      const made = (given: Base): string => {
        const token = forgery.make(options.of === 'unlisted' ? unlistedTwin(given) : given);
        assert.notEqual(token, given.token, `${forgery.name} is the real token`);
        sent.add(token);
        return token;
      };
      for (const entryPoint of entryPointsFor(forgery, index, byTurns)) {
        const base = entryPoint.kind === 'access' ? access : await addDecoy(service, refresh);
        const token = made(base);
        assertRefused(await entryPoint.present(url, browser, token), entryPoint, forgery);
        // A token signed with our private key counts as the reuse of an exchanged one, which ends the session that it
        // names.
        if (entryPoint.kind === 'refresh')
          assert.ok(
            (await removeDecoy(service, base)) || isOurs(base, token),
            `${forgery.name} ended the session`,
          );
        tally.tried();
        tally.held();
      }
      if (forgery.only !== 'body' && (!byTurns || index % 5 === 0)) {
        const decoy = await addDecoy(service, refresh);
        const logout = { url, browser, owner: access, cookie: made(decoy), name: forgery.name };
        await assertLogoutIgnoresCookie(service, logout, tally);
        await removeDecoy(service, decoy);
      }
    }
    const reused = await service.sql<{ id: string }>(
      "select id from sessions where id = any($1) and revoked_reason = 'refresh_token_reuse'",
      [sessions],
    );
    const left = [...(await liveSessions(service)), ...reused.map(({ id }) => id)];
    assert.deepEqual(left.sort(), sessions.sort(), 'a forgery ended or began a session');
    assert.ok(await isAccepted(service, access.token), 'the real access token');
    assert.ok(await isRefreshable(twin, refresh.token), 'the real refresh token');
    tally.held(3 + (await assertUnrecorded([service, twin], from, sent)));
  }
  return {
    service,
    twin,
    browser,
    bases,
    tryAll,
    async addSession() {
      const added = await addSession(service, access);
      const other = await signIn(service, await addUser(service));
      return {
        claims: readToken(added.accessToken).claims,
        stranger: readToken(other.accessToken as string).claims,
      };
    },
  };
}

const turn = <T>(list: readonly T[], index: number): T[] => list.slice(index % list.length).slice(0, 1);

function entryPointsFor(forgery: Forgery, index: number, byTurns: boolean): EntryPoint[] {
  const open = entryPoints.filter(({ carrier }) => forgery.only === undefined || carrier === forgery.only);
  if (!byTurns) return open;
  const ofKind = (kind: TokenKind): EntryPoint[] => open.filter((entryPoint) => entryPoint.kind === kind);
  // Tables have rows in groups of three, as many as entry points of a kind: each group starts at another one.
  const number = index + Math.floor(index / 3);
  return [...turn(ofKind('access'), number), ...turn(ofKind('refresh'), number)];
}

function assertRefused(answer: Answer, entryPoint: EntryPoint, forgery: Forgery): void {
  const what = `${forgery.name}, at ${entryPoint.name}`;
  if (entryPoint.kind === 'access') assertUniformRefusal(answer, forgery.code ?? 'token_invalid', what);
  else assertUniformRefusal(answer, 'refresh_token_invalid', what);
}
type Answer = Awaited<ReturnType<EntryPoint['present']>>;

const liveSessions = async (service: TestService): Promise<string[]> => {
  const rows = await service.sql<{ id: string }>(
    `select s.id from sessions s join users u on u.id = s.user_id where is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)
     order by s.created_at, s.id`,
  );
  return rows.map(({ id }) => id);
};

/**
 * A logout with the access token of a new session of `owner`, and this forged refresh cookie. `name` names the forgery.
 */
type Logout = { url: string; browser: Browser; owner: Base; cookie: string; name: string };

/** Checks that a logout ends the session of its access token, and not the one that its forged cookie claims. */
async function assertLogoutIgnoresCookie(
  service: TestService,
  { url, browser, owner, cookie, name }: Logout,
  tally: Tally,
): Promise<void> {
  const other = await addSession(service, owner);
  const answer = await logOutWith(url, browser, other.accessToken, cookie);
  assert.equal(answer.status, 200, `${name}, at logout: ${answer.text}`);
  const rows = await service.sql<{ id: string }>(
    `select s.id from sessions s join users u on u.id = s.user_id where s.id = any($1) and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)`,
    [[other.id, owner.claims.sid]],
  );
  assert.deepEqual(rows, [{ id: owner.claims.sid }], `${name}, at logout`);
  tally.tried();
  tally.held();
}

/** Adds a session of the owner whose refresh token is on the allowlist and differs only in `sid` and `jti`. */
async function addDecoy(service: TestService, base: Base): Promise<Base> {
  const [sid, jti] = [randomUUID(), randomUUID()];
  const payload = withMembers(base.payload, { sid, jti });
  const token = sealed(base, base.header, payload);
  await service.sql(
    `with session as (
       insert into sessions (id, user_id, expires_at) values ($1, $2, now() + interval '1 hour') returning id)
     insert into session_tokens (user_id, token_hash, session_id, kind, jti, key_id, issued_at, expires_at)
     select $2, $3, id, 'refresh', $4, $5, now(), now() + interval '1 hour' from session`,
    [sid, base.claims.sub, hashOf(token), jti, base.kid],
  );
  const signature = Buffer.from(token.slice(token.lastIndexOf('.') + 1), 'base64url');
  return { ...base, payload, token, signature, claims: JSON.parse(payload) };
}

/** Deletes the session. Returns whether it was still live. */
async function removeDecoy(service: TestService, { claims }: Base): Promise<boolean> {
  const rows = await service.sql(
    `delete from sessions s using users u where s.id = $1 and u.id = s.user_id and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)
     returning s.id`,
    [claims.sid],
  );
  return rows.length === 1;
}

function isOurs({ publicKey }: Base, token: string): boolean {
  const [header, payload, signature = ''] = token.split('.');
  return verify(null, Buffer.from(`${header}.${payload}`), publicKey, Buffer.from(signature, 'base64url'));
}

/** Adds a session of the owner as a login would; a login for each forgery would cost a password hash. */
async function addSession(service: TestService, owner: Base): Promise<{ id: string; accessToken: string }> {
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

// Characters. Shorter parts, such as a word or the start of a header, are in every log.
const TELLING_LENGTH = 24;

/**
 * Throws if a part of these tokens is in a log line or in the audit log. Returns 1, the number of statements checked.
 */
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
