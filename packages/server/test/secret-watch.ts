// A net under the whole suite: every password and token that a test's client sends or receives, and every token in a
// mail, must turn up in no log line, no audit entry, no queued mail and no error answer.
// It must not be asked: the client and the harness feed it, and a find fails the test file.
import { report } from './hardening/scenario.ts';

export const WATCHED =
  'no password, token or key is in a log line, an audit entry, the outbox or an error answer';

/** Shorter ones (`weak`, `x`) are words, not secrets that could be recognised. */
const MIN_LENGTH = 12;
const secretKey = /password|token|secret|cookie/i;
/** What no test has to know to recognise: a signed token, a password hash, a private key. */
const secretShapes: readonly [what: string, shape: RegExp][] = [
  ['a signed token', /eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{40,}/],
  ['a password hash', /\$argon2\w+\$v=/],
  ['a private key', /PRIVATE KEY|"d":"[\w-]{40,}"/],
];

type Found = { what: string; at: number };

export type SecretWatch = ReturnType<typeof createSecretWatch>;

export function createSecretWatch() {
  /** By their first characters, so that a text is read once however many there are. */
  const secrets = new Map<string, Map<string, string>>();
  /** What was also sent as a name, an e-mail and the like is no secret of anybody. */
  const plain = new Set<string>();

  function note(value: string, what: string): void {
    if (value.length < MIN_LENGTH) return;
    const start = value.slice(0, MIN_LENGTH);
    const same = secrets.get(start) ?? new Map<string, string>();
    secrets.set(start, same.set(value, what));
  }

  /** Every text in a JSON value that stands under the name of a secret. */
  function noteIn(value: unknown, key = ''): void {
    if (typeof value === 'string') {
      if (secretKey.test(key)) note(value, key);
      else plain.add(value);
    } else if (Array.isArray(value)) for (const one of value) noteIn(one, key);
    else if (value !== null && typeof value === 'object')
      for (const [name, one] of Object.entries(value)) noteIn(one, name);
  }

  function find(text: string): Found | null {
    for (const [what, shape] of secretShapes) {
      const at = text.search(shape);
      if (at >= 0) return { what, at };
    }
    for (let at = 0; at + MIN_LENGTH <= text.length; at += 1)
      for (const [secret, what] of secrets.get(text.slice(at, at + MIN_LENGTH)) ?? [])
        if (!plain.has(secret) && text.startsWith(secret, at)) return { what, at };
    return null;
  }

  /** Throws where the first one is found; the message repeats what stands before it, not the secret. */
  function assertClean(place: string, text: string): void {
    const found = find(text);
    if (found)
      throw new Error(
        `${place} holds a secret (${found.what}): …${text.slice(Math.max(0, found.at - 200), found.at)}`,
      );
  }

  return { note, noteIn, assertClean };
}

/** One for all of a test file: a secret of one service is a secret for the other, too. */
export const watch = createSecretWatch();

let errorAnswers = 0;
/** An answer as the client got it. */
export function watchAnswer(status: number, text: string, body: unknown): void {
  if (status < 400) {
    watch.noteIn(body);
    return;
  }
  errorAnswers += 1;
  watch.assertClean(`an answer with status ${status}`, text);
}

/** Settings that are secrets or hold one, as a service is started with them. */
export function watchSettings(environment: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(environment)) {
    const password = URL.parse(value)?.password;
    if (password) watch.note(decodeURIComponent(password), name);
    if (secretKey.test(name)) watch.note(value, name);
  }
}

// Above what any test writes; a page of a table, not a guarantee.
const MAX_ROWS = 50_000;
const tables = ['audit_logs', 'outbox', 'login_attempts', 'idempotency_keys', 'rate_limits', 'job_schedule'];

/** What a service has left behind. A table that a test took away is left out. */
export async function watchTraces(
  logLines: readonly string[],
  sql: (text: string) => Promise<{ row: string }[]>,
): Promise<void> {
  let rows = 0;
  for (const line of logLines) watch.assertClean('the log', line);
  for (const table of tables) {
    const found = await sql(`select t::text as row from ${table} t limit ${MAX_ROWS}`).catch(() => []);
    for (const { row } of found) watch.assertClean(`table ${table}`, row);
    rows += found.length;
  }
  report({
    area: 'secrets',
    name: WATCHED,
    tried: logLines.length + rows + errorAnswers,
    injected: 0,
    held: 3,
    ok: true,
  });
  errorAnswers = 0;
}
