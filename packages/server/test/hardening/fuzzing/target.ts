// The service under hostile requests: sends them, judges every answer, and afterwards what is left behind.
// It must not look for a particular refusal: which one an input earns is the business of other tests.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { securityHeaders } from '../../../src/platform/http/security-headers.ts';
import type { Answer } from '../../client.ts';
import { describedBy, lowerCase } from '../../conformance/described.ts';
import { type Callers, existingRecords, openWorld } from '../../conformance/records.ts';
import { type Entry, type Kind, operationsOf } from '../../conformance/requests.ts';
import type { Hooks, TestService } from '../../harness.ts';
import { assertSound } from '../../invariants.ts';
import { watchAnswer } from '../../secret-watch.ts';
import { addPerson } from '../../users/people.ts';
import type { Attempt } from './fields.ts';
import { assertCleanLog, assertCleanPrototypes } from './traces.ts';

/** Repeats a run. */
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
  /** Sends it as this caller and judges the answer; `refused` must not come back in a refusal. */
  send(who: Who, entry: Entry, shot: Shot, refused?: string): Promise<Answer>;
  /** What may not change whatever this caller sends. */
  rights(who: Who): Promise<unknown>;
  /** The service is sound, still answers, and the caller has the rights that he had. Answers how many statements held. */
  settle(who: Who, before: unknown): Promise<number>;
};

// The statements' own time-outs add up to less.
const HANGS_AFTER_MS = 20_000;
// Node takes 16 KiB of headers, the request line among them.
const MAX_ADDRESS = 9_000;
// Shorter ones are words of our own sentences.
const TELLING = 8;

export async function openTarget(hooks: Hooks, environment: Record<string, string> = {}): Promise<Target> {
  const world = await openWorld(hooks, environment);
  const { service, document, callers } = world;
  const assertDescribed = describedBy(document);
  // Whose data no ordinary user ever sees.
  const planted: string[] = [];
  for (let number = 0; number < 5; number += 1) {
    const person = await addPerson(service, {
      email: `planted-${number}@secret.example`,
      firstName: 'Planted',
    });
    planted.push(person.id);
  }
  planted.push('@secret.example', 'Planted');
  const [{ hash } = {}] = await service.sql<{ hash: string }>(
    'select password_hash as hash from users where id = $1',
    [callers['a superuser'].person.id],
  );

  /** Some requests end the session that sends them, and some change the password. */
  async function revive(who: Who): Promise<void> {
    const { person, client } = callers[who];
    await service.sql('delete from login_attempts where email = $1', [person.email]);
    await service.sql('update users set password_hash = $2 where id = $1', [person.id, hash]);
    client.cookies.delete('refresh_token');
    const again = await client.login(person);
    assert.equal(again.status, 200, again.text);
  }
  const reviving = new Map<Who, Promise<void>>();

  async function fire(who: Who, { method, path, headers, body }: Shot): Promise<Answer> {
    const { cookie, ...own } = headers;
    const prepared = await callers[who].client.prepare(method, { headers: own });
    const all = new Headers(prepared.headers);
    if (cookie !== undefined) all.set('cookie', [all.get('cookie'), cookie].filter(Boolean).join('; '));
    const response = await fetch(`${service.url}${path}`, {
      method,
      headers: all,
      redirect: 'manual',
      signal: AbortSignal.timeout(HANGS_AFTER_MS),
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
    if (entry.path.startsWith('/api')) assert.equal(answer.headers.get('cache-control'), 'no-store');
    if (who === 'an ordinary user')
      for (const secret of planted) assert.ok(!answer.text.includes(secret), `another user's ${secret}`);
    if (answer.status < 400) return;
    assert.equal(answer.body.request_id, answer.headers.get('x-request-id'));
    if (refused === undefined || refused.length < TELLING) return;
    const { current: _current, request_id: _requestId, ...said } = answer.body;
    const text = JSON.stringify(said);
    // A word that stands in a sentence of ours, a field's name for one, tells nothing.
    if (/^[\w .-]{0,40}$/.test(refused)) return;
    assert.ok(!text.includes(JSON.stringify(refused).slice(1, -1)), 'the refused value comes back');
  }

  async function send(who: Who, entry: Entry, shot: Shot, refused?: string): Promise<Answer> {
    let answer: Answer | undefined;
    try {
      answer = await fire(who, shot);
      if (
        answer.status === 401 &&
        /^token_/.test(answer.body?.code) &&
        shot.headers.authorization === undefined
      ) {
        const running = reviving.get(who) ?? revive(who).finally(() => reviving.delete(who));
        reviving.set(who, running);
        await running;
        answer = await fire(who, shot);
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
    // Accounts that were opened meanwhile have the default role, and nothing else.
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
    records: () => existingRecords(world),
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

/** The refusal of an address with an id that no router reads: the document speaks of operations only. */
const isOfNoOperation = ({ path }: Entry, { status, body }: Answer): boolean =>
  path.includes('{') &&
  [
    '414 uri_too_long: The address is too long.',
    '400 malformed_request: The request could not be read.',
  ].includes(`${status} ${body?.code}: ${body?.detail}`);

/** Percent-encoded; a lone surrogate as the bytes that UTF-8 would have for it. */
const encoded = (text: string): string =>
  text
    .slice(0, MAX_ADDRESS)
    .split(/(\p{Surrogate})/u)
    .map((part) => (part.isWellFormed() ? encodeURIComponent(part) : '%ED%A0%80'))
    .join('')
    .slice(0, MAX_ADDRESS)
    .replace(/%.?$/, '');

/** An empty part of a path, or a dot, would be another address. */
const inPath = (text: string): string =>
  /^(\.|%2e){0,2}$/i.test(text) ? `x${encoded(text)}` : encoded(text);

/** The bytes of UTF-8, without those that no header may hold. */
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

/** The request as a line for a shell; what the client adds by itself (tokens, cookies) left out. */
function curl(url: string, { method, path, headers, body }: Shot): string {
  const data = Buffer.isBuffer(body) ? `base64:${body.toString('base64')}` : body;
  return [
    `curl -X ${method} ${quoted(`${url}${path}`)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(data === undefined ? [] : [`--data-raw ${quoted(data.slice(0, 2_000))}`]),
  ].join(' ');
}
