// A net under the whole suite: every password and token that a test's client sends or receives, and every token in a
// mail, must turn up in no log line, no audit entry, no queued mail and no error answer; passwords in no answer at all.
// It must not be asked: the clients and the harness feed it, and a find fails the test file.
import { fieldExamples } from '@castellan/contract/examples';
import { report } from './hardening/scenario.ts';

export const WATCHED =
  'no password, token or key is in a log line, an audit entry, the outbox or an error answer';

/** Shorter ones (`weak`, `x`) are words, not secrets that could be recognised. */
const MIN_LENGTH = 12;
const secretKey = /password|token|secret|cookie/i;
const passwordKey = /password|secret/i;
/** What no test has to know to recognise: a password hash, a private key, a signed token. */
const keyShapes: readonly [what: string, shape: RegExp][] = [
  ['a password hash', /\$argon2\w+\$v=/],
  ['a private key', /PRIVATE KEY|"d":"[\w-]{40,}"/],
];
const signedToken: [what: string, shape: RegExp] = [
  'a signed token',
  /eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{40,}/,
];

type Found = { what: string; at: number };
/** `passwords`: for answers that hand out tokens. */
type Looked = 'everything' | 'passwords';

export type SecretWatch = ReturnType<typeof createSecretWatch>;

export function createSecretWatch() {
  /** By their first characters, so that a text is read once however many there are. */
  const secrets = new Map<string, Map<string, string>>();
  /** What a test also sends as a name, an e-mail and the like is no secret of anybody. */
  const plain = new Set<string>();

  function note(value: string, what: string): void {
    if (value.length < MIN_LENGTH) return;
    // As it stands, and as it stands in JSON.
    for (const spelling of new Set([value, JSON.stringify(value).slice(1, -1)])) {
      const start = spelling.slice(0, MIN_LENGTH);
      const same = secrets.get(start) ?? new Map<string, string>();
      secrets.set(start, same.set(spelling, what));
    }
  }

  function walk(value: unknown, key: string, visit: (text: string, key: string) => void): void {
    if (typeof value === 'string') visit(value, key);
    else if (Array.isArray(value)) for (const one of value) walk(one, key, visit);
    else if (value !== null && typeof value === 'object')
      for (const [name, one] of Object.entries(value)) walk(one, name, visit);
  }

  /** Texts of an answer that stand under the name of a token. No answer has a password but in an example. */
  function noteReceived(value: unknown): void {
    walk(value, '', (text, key) => {
      if (secretKey.test(key) && !passwordKey.test(key)) note(text, key);
    });
  }

  /** Texts of a body that stand under the name of a secret; all others are none. */
  function noteSent(value: unknown): void {
    walk(value, '', (text, key) => {
      if (secretKey.test(key)) note(text, key);
      else plain.add(text);
    });
  }

  function find(text: string, looked: Looked): Found | null {
    for (const [what, shape] of looked === 'everything' ? [...keyShapes, signedToken] : keyShapes) {
      const at = text.search(shape);
      if (at >= 0) return { what, at };
    }
    for (let at = 0; at + MIN_LENGTH <= text.length; at += 1)
      for (const [secret, what] of secrets.get(text.slice(at, at + MIN_LENGTH)) ?? [])
        if (
          (looked === 'everything' || passwordKey.test(what)) &&
          !plain.has(secret) &&
          text.startsWith(secret, at)
        )
          return { what, at };
    return null;
  }

  /** Throws where the first one is found; the message repeats what stands before it, not the secret. */
  function assertClean(place: string, text: string, looked: Looked = 'everything'): void {
    const found = find(text, looked);
    if (found)
      throw new Error(
        `${place} holds a secret (${found.what}): …${text.slice(Math.max(0, found.at - 200), found.at)}`,
      );
  }

  return { note, noteSent, noteReceived, assertClean };
}

/** One for all of a test file: a secret of one service is a secret for the other, too. */
export const watch = createSecretWatch();
// What the reference shows to everybody.
watch.noteSent(Object.values(fieldExamples));

let answers = 0;
/** An answer as a client got it; cookies that it sets are looked at by whoever keeps them. */
export function watchAnswer(answer: { status: number; headers: Headers; text: string; body: unknown }): void {
  const { status, headers, text, body } = answer;
  answers += 1;
  if (status < 400) watch.noteReceived(body);
  const fields = [...headers].filter(([name]) => name !== 'set-cookie').map(([, value]) => value);
  const place = `an answer with status ${status}`;
  watch.assertClean(place, text, status < 400 ? 'passwords' : 'everything');
  watch.assertClean(`the headers of ${place}`, fields.join('\n'));
}

/** Settings that are secrets or hold one, as a service is started with them. */
export function watchSettings(environment: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(environment)) {
    const password = URL.parse(value)?.password;
    if (password) watch.note(decodeURIComponent(password), `password of ${name}`);
    if (secretKey.test(name)) watch.note(value, name);
  }
}

// Above what any test writes; a page of a table, not a guarantee.
const MAX_ROWS = 50_000;
const tables = ['audit_logs', 'outbox', 'login_attempts', 'idempotency_keys', 'rate_limits', 'job_schedule'];

/** A table that a test took away, or a whole database, cannot be looked through: undefined. */
async function rowsOf(
  table: string,
  sql: (text: string) => Promise<{ row: string }[]>,
): Promise<string[] | undefined> {
  try {
    return (await sql(`select t::text as row from ${table} t limit ${MAX_ROWS}`)).map(({ row }) => row);
  } catch (error) {
    const { code = '' } = error as { code?: string };
    // Undefined table; refused, cut or shut-down connections.
    if (/^(42P01|08...|57P..|53...|3D000|E[A-Z]+)$/.test(code)) return undefined;
    throw error;
  }
}

/** What a service has left behind. */
export async function watchTraces(
  logLines: readonly string[],
  sql: (text: string) => Promise<{ row: string }[]>,
): Promise<void> {
  const outcome = {
    area: 'secrets',
    name: WATCHED,
    tried: answers,
    injected: 0,
    held: 1,
    ok: false,
  } as const;
  let [tried, held]: [number, number] = [outcome.tried, outcome.held];
  answers = 0;
  try {
    for (const line of logLines) watch.assertClean('the log', line);
    tried += logLines.length;
    held += 1;
    for (const table of tables) {
      const rows = await rowsOf(table, sql);
      if (!rows) continue;
      for (const row of rows) watch.assertClean(`table ${table}`, row);
      tried += rows.length;
      held += 1;
    }
    report({ ...outcome, tried, held, ok: true });
  } catch (error) {
    report({ ...outcome, tried, held });
    throw error;
  }
}
