// The service under hostile requests: sends them, judges every answer, and checks the service afterwards.
// It must not expect a particular refusal: other tests do.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { securityHeaders } from '@castellan/server/platform/http/security-headers';
import type { Answer } from '@castellan/testing/client';
import { describedBy, lowerCase } from '@castellan/testing/conformance/described';
import { type Callers, existingRecords, openWorld } from '@castellan/testing/conformance/records';
import { type Entry, type Kind, operationsOf } from '@castellan/testing/conformance/requests';
import type { Hooks, TestService } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { watchAnswer } from '@castellan/testing/secret-watch';
import { addPerson } from '@castellan/testing/users/people';
import type { Attempt } from './fields.ts';
import { assertCleanLog, assertCleanPrototypes } from './traces.ts';

/** HARDENING_SEED repeats a run. */
export const seed = Number(process.env.HARDENING_SEED ?? randomInt(2 ** 31));

export type Who = keyof Callers;
export type Shot = { method: string; path: string; headers: Record<string, string>; body?: string | Buffer };

export type Target = {
  service: TestService;
  entries: readonly Entry[];
  callers: Callers;
  records(): Promise<Record<Kind, string[]>>;
  document: Awaited<ReturnType<typeof openWorld>>['document'];
  shotOf(entry: Entry, attempt: Attempt): Shot;
  /** Sends the request as this caller and judges the answer. A refusal must not repeat `refused`. */
  send(who: Who, entry: Entry, shot: Shot, refused?: string): Promise<Answer>;
  /** Returns the rights that requests of this caller must not change. */
  rights(who: Who): Promise<unknown>;
  /** Checks that the service is sound, answers, and kept the rights. Returns the number of statements checked. */
  settle(who: Who, before: unknown): Promise<number>;
};

// More than the sum of the service's statement timeouts.
const NO_HANG_MS = 60_000;
// Node accepts 16 KiB of headers, including the request line.
const MAX_ADDRESS = 9_000;
// Characters. Shorter values may be words of our own messages.
const MIN_TELLING_LENGTH = 8;
// The documents below /api that caches may keep: the key set once it has keys, and the schemas of events.
const KEY_SET = '/api/v1/oauth/jwks.json';
const EVENTS = '/api/v1/webhooks/events';

function cacheRuleOf(path: string, answer: Answer): string {
  if (path === KEY_SET && answer.status === 200 && answer.body.keys.length > 0) return 'public, max-age=300';
  if (path === EVENTS && [200, 304].includes(answer.status)) return 'public, max-age=3600';
  return 'no-store';
}

export async function openTarget(hooks: Hooks, environment: Record<string, string> = {}): Promise<Target> {
  const world = await openWorld(hooks, environment);
  const { service, document, callers } = world;
  const assertDescribed = describedBy(document);
  // Users whose data no ordinary user may see.
  const planted: string[] = [];
  for (let number = 0; number < 5; number += 1) {
    const person = await addPerson(service, {
      email: `planted-${number}@secret.example`,
      firstName: 'Planted',
    });
    planted.push(person.id);
  }
  const strangers = [...planted];
  planted.push('@secret.example', 'Planted');
  const [{ hash } = {}] = await service.sql<{ hash: string }>(
    'select password_hash as hash from users where id = $1',
    [callers['a superuser'].person.id],
  );

  /** Signs the caller in again: some requests end their own session, and some change the password. */
  async function revive(who: Who): Promise<void> {
    const { person, client } = callers[who];
    await service.sql('delete from login_attempts where email = $1', [person.email]);
    await service.sql('update users set password_hash = $2 where id = $1', [person.id, hash]);
    client.cookies.delete('refresh_token');
    const again = await client.login(person);
    assert.equal(again.status, 200, again.text);
  }
  const reviving = new Map<Who, Promise<void>>();

  async function request(who: Who, { method, path, headers, body }: Shot): Promise<Answer> {
    const { cookie, ...own } = headers;
    const prepared = await callers[who].client.prepare(method, { headers: own });
    const all = new Headers(prepared.headers);
    if (cookie !== undefined) all.set('cookie', [all.get('cookie'), cookie].filter(Boolean).join('; '));
    const response = await fetch(`${service.url}${path}`, {
      method,
      headers: all,
      redirect: 'manual',
      signal: AbortSignal.timeout(NO_HANG_MS),
      ...(body === undefined ? {} : { body: body as string }),
    });
    const text = await response.text();
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      parsed = undefined;
    }
    const answer = { status: response.status, headers: response.headers, text, body: parsed };
    watchAnswer(answer);
    return answer;
  }

  function judge(who: Who, entry: Entry, answer: Answer, refused: string | undefined): void {
    if (!isOfNoOperation(entry, answer)) assertDescribed(entry, answer);
    for (const [name, value] of Object.entries(securityHeaders))
      assert.equal(answer.headers.get(name), value, name);
    if (entry.path.startsWith('/api'))
      assert.equal(answer.headers.get('cache-control'), cacheRuleOf(entry.path, answer));
    if (who === 'an ordinary user')
      for (const secret of planted) assert.ok(!answer.text.includes(secret), `another user's ${secret}`);
    if (answer.status < 400) return;
    if (answer.body.error === undefined)
      assert.equal(answer.body.request_id, answer.headers.get('x-request-id'));
    if (refused === undefined || refused.length < MIN_TELLING_LENGTH) return;
    const { current: _current, request_id: _requestId, ...said } = answer.body;
    const text = JSON.stringify(said);
    // A word of our own messages, such as a field name, does not count as repeated.
    if (/^[\w .-]{0,40}$/.test(refused)) return;
    assert.ok(!text.includes(JSON.stringify(refused).slice(1, -1)), 'the refusal repeats the refused value');
  }

  async function send(who: Who, entry: Entry, shot: Shot, refused?: string): Promise<Answer> {
    let answer: Answer | undefined;
    try {
      answer = await request(who, shot);
      if (
        answer.status === 401 &&
        /^token_/.test(answer.body?.code) &&
        shot.headers.authorization === undefined
      ) {
        const running = reviving.get(who) ?? revive(who).finally(() => reviving.delete(who));
        reviving.set(who, running);
        await running;
        answer = await request(who, shot);
      }
      judge(who, entry, answer, refused);
      return answer;
    } catch (error) {
      const id = answer?.headers.get('x-request-id');
      const logged = id ? service.logLines.filter((line) => line.includes(id)).join('') : '';
      throw new Error(
        `HARDENING_SEED=${seed}: ${(error as Error).message}\nas ${who}: ${curl(service.url, shot)}\n` +
          `${answer?.status ?? 'no answer'} ${answer?.text.slice(0, 2_000) ?? ''}\n${logged}`,
        { cause: error },
      );
    }
  }

  async function rights(who: Who): Promise<unknown> {
    const { person, client } = callers[who];
    if ((await client.get('/api/v1/auth/sessions')).status === 401) await revive(who);
    const { permissions, is_superuser, roles } = (await client.get('/api/v1/users/me')).body.data;
    const mine = { is_superuser, ...(is_superuser ? {} : { permissions, roles }) };
    if (is_superuser) return mine;
    // Accounts that were created meanwhile have only the default role.
    const [others] = await service.sql(
      `select (select array_agg(id order by id) from users where is_superuser) as superusers,
        (select md5(string_agg(l::text, ',' order by l::text)) from user_roles l join roles r on r.id = l.role_id
         where r.name <> 'User') as user_roles,
        (select md5(string_agg(row (r.id, r.name, r.description)::text, ',' order by id)) from roles r) as roles,
        (select md5(string_agg(l::text, ',' order by l::text)) from role_permissions l) as role_permissions,
        (select md5(string_agg(p::text, ',' order by p::text)) from permissions p) as permissions,
        (select md5(string_agg(g::text, ',' order by g::text)) from role_groups g) as role_groups,
        (select md5(string_agg(g::text, ',' order by g::text)) from permission_groups g) as permission_groups,
        (select md5(string_agg(row (u.email, u.first_name, u.last_name, u.password_hash)::text, ',' order by id))
         from users u where id <> $1 and created_at < $2) as others`,
      [person.id, opened],
    );
    return { ...mine, ...others };
  }
  const [{ opened } = {}] = await service.sql<{ opened: Date }>('select now() as opened');

  return {
    service,
    document,
    callers,
    entries: operationsOf(document),
    records: () => existingRecords(world, strangers),
    shotOf,
    send,
    rights,
    async settle(who, before) {
      assert.deepEqual(await rights(who), before, `HARDENING_SEED=${seed}: the rights of ${who}`);
      const ready = await service.client().get('/health/ready');
      assert.equal(ready.status, 200, ready.text);
      return 2 + assertCleanPrototypes() + assertCleanLog(service) + (await assertSound(service));
    },
  };
}

/**
 * Returns whether this is the refusal of a path that the router cannot read; the document describes only operations.
 */
const isOfNoOperation = ({ path }: Entry, { status, body }: Answer): boolean =>
  path.includes('{') &&
  [
    '414 uri_too_long: The URL is too long.',
    '400 malformed_request: The request could not be read.',
  ].includes(`${status} ${body?.code}: ${body?.detail}`);

/** Returns the text percent-encoded, with a lone surrogate as the bytes that UTF-8 would have for it. */
const encoded = (text: string): string =>
  text
    .slice(0, MAX_ADDRESS)
    .split(/(\p{Surrogate})/u)
    .map((part) => (part.isWellFormed() ? encodeURIComponent(part) : '%ED%A0%80'))
    .join('')
    .slice(0, MAX_ADDRESS)
    .replace(/%.?$/, '');

/** Encodes a part of a path. An empty part or a dot would make another path. */
const inPath = (text: string): string =>
  /^(\.|%2e){0,2}$/i.test(text) ? `x${encoded(text)}` : encoded(text);

/** Returns the UTF-8 bytes without those that a header may not contain. */
const inHeader = (text: string): string =>
  Buffer.from(text.slice(0, MAX_ADDRESS / 3))
    .toString('latin1')
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '')
    .trim();

function shotOf({ method, path }: Entry, { params, query, headers, body, cookies }: Attempt): Shot {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => inPath(params[name] ?? ''));
  const asked = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one) => `${encoded(name)}=${encoded(String(one))}`),
  );
  const cookie = Object.entries(cookies).map(([name, value]) => `${name}=${inHeader(value)}`);
  const raw = body && ('raw' in body ? body.raw : JSON.stringify(body.json));
  return {
    method,
    path: asked.length > 0 ? `${filled}?${asked.join('&')}` : filled,
    headers: {
      ...(body ? { 'content-type': 'application/json' } : {}),
      ...Object.fromEntries(
        Object.entries(lowerCase(headers)).map(([name, value]) => [name, inHeader(value)]),
      ),
      ...(cookie.length > 0 ? { cookie: cookie.join('; ') } : {}),
    },
    ...(raw === null || raw === undefined || method === 'GET' ? {} : { body: raw }),
  };
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Returns the request as a shell command, without the tokens and cookies that the client adds. */
function curl(url: string, { method, path, headers, body }: Shot): string {
  const data = Buffer.isBuffer(body) ? `base64:${body.toString('base64')}` : body;
  return [
    `curl -X ${method} ${quoted(`${url}${path}`)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(data === undefined ? [] : [`--data-raw ${quoted(data.slice(0, 2_000))}`]),
  ].join(' ');
}
