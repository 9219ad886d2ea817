// Watches for leaked secrets during all tests. Passwords and tokens that a test client sends or receives, and tokens in
// mails, must not appear in a log line, an audit entry, a queued mail or an error answer; passwords in no answer at all.
// Tests do not call it: the clients and the harness do, and a leak fails the test file.
import { fieldExamples } from '@castellan/contract/examples';
import { report } from './scenario.ts';

export const WATCHED =
  'no password, token or key is in a log line, an audit entry, the outbox or an error answer';

/** Shorter values (`weak`, `x`) are ordinary words and cannot be recognised as secrets. */
const MIN_LENGTH = 12;
/** The metadata of OAuth name endpoints and methods of tokens, which are public; so are ids and names of tokens. */
const secretKey = /^(?!.*_(?:endpoint|supported|id|name)$).*(?:password|token|secret|cookie)/i;
const passwordKey = /password|secret/i;
/** Secrets that are recognised by their shape alone. */
const keyShapes: readonly [what: string, shape: RegExp][] = [
  ['a password hash', /\$argon2\w+\$v=/],
  ['a private key', /PRIVATE KEY|"d":"[\w-]{40,}"/],
];
/** Only answers that issue them contain these. */
const tokenShapes: readonly [what: string, shape: RegExp][] = [
  ['a signed token', /eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{40,}/],
  ['a secret, a code or a token of an application', /cas_[a-z]{2}_[0-9A-Za-z]{43,60}_[0-9A-Za-z]{6}/],
  [
    'an API key or a personal access token',
    /castellan_(?:pat_)?[0-9A-Za-z]{12}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}/,
  ],
];

const MARKS = 65_536;
/** Returns a number below MARKS, computed from four characters. */
const markAt = (text: string, at: number): number =>
  (text.charCodeAt(at) ^
    (text.charCodeAt(at + 1) << 3) ^
    (text.charCodeAt(at + 2) << 6) ^
    (text.charCodeAt(at + 3) << 9)) &
  (MARKS - 1);

type Found = { what: string; at: number };
/** `passwords` is for answers that issue tokens. */
type SearchScope = 'everything' | 'passwords';

export function createSecretWatch() {
  /** By their first characters, so that a text is read only once. */
  const secrets = new Map<string, Map<string, string>>();
  /** Whether a secret begins with characters of this mark. Most positions of a text need no lookup. */
  const marked = new Uint8Array(MARKS);
  /** Values that a test also sends as a name, an email or another ordinary field are not secret. */
  const plain = new Set<string>();

  function note(value: string, what: string): void {
    if (value.length < MIN_LENGTH) return;
    // As the value itself, and as it is written in JSON.
    for (const spelling of new Set([value, JSON.stringify(value).slice(1, -1)])) {
      const start = spelling.slice(0, MIN_LENGTH);
      marked[markAt(spelling, 0)] = 1;
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

  /** Notes the values of an answer whose field is named like a token. No answer contains a password, except examples. */
  function noteReceived(value: unknown): void {
    walk(value, '', (text, key) => {
      if (secretKey.test(key) && !passwordKey.test(key)) note(text, key);
    });
  }

  /** Notes the values of a body whose field is named like a secret; all other values are ordinary. */
  function noteSent(value: unknown): void {
    walk(value, '', (text, key) => {
      if (secretKey.test(key)) note(text, key);
      else plain.add(text);
    });
  }

  function find(text: string, scope: SearchScope): Found | null {
    for (const [what, shape] of scope === 'everything' ? [...keyShapes, ...tokenShapes] : keyShapes) {
      const at = text.search(shape);
      if (at >= 0) return { what, at };
    }
    for (let at = 0; at + MIN_LENGTH <= text.length; at += 1) {
      if (marked[markAt(text, at)] === 0) continue;
      for (const [secret, what] of secrets.get(text.slice(at, at + MIN_LENGTH)) ?? [])
        if (
          (scope === 'everything' || passwordKey.test(what)) &&
          !plain.has(secret) &&
          text.startsWith(secret, at)
        )
          return { what, at };
    }
    return null;
  }

  /** Throws at the first secret. The message repeats the text before it, not the secret. */
  function assertClean(place: string, text: string, scope: SearchScope = 'everything'): void {
    const found = find(text, scope);
    if (found)
      throw new Error(
        `${place} holds a secret (${found.what}): …${text.slice(Math.max(0, found.at - 200), found.at)}`,
      );
  }

  function forget(): void {
    secrets.clear();
    marked.fill(0);
    plain.clear();
  }

  return { note, noteSent, noteReceived, assertClean, forget };
}

/** One for the whole test file: a secret of one service is also a secret for the others. */
export const watch = createSecretWatch();

/** Starts over for the next test file of this process, in which a secret of this file may be an ordinary name. */
export function watchNextFile(): void {
  watch.forget();
  // The API reference shows these to everybody.
  watch.noteSent(Object.values(fieldExamples));
}
watchNextFile();

let answers = 0;
/** Checks an answer as a client received it. The code that keeps cookies checks those. */
export function watchAnswer(answer: { status: number; headers: Headers; text: string; body: unknown }): void {
  const { status, headers, text, body } = answer;
  answers += 1;
  if (status < 400) watch.noteReceived(body);
  const fields = [...headers]
    .filter(([name]) => name !== 'set-cookie')
    .map(([name, value]) => (name === 'location' && status === 303 ? withoutSecrets(value) : value));
  const place = `an answer with status ${status}`;
  watch.assertClean(place, text, status < 400 ? 'passwords' : 'everything');
  watch.assertClean(`the headers of ${place}`, fields.join('\n'));
}

/**
 * An application gets its code in an address, and a provider the ID token of the session that is to end there. Anywhere else they
 * are secrets.
 */
function withoutSecrets(address: string): string {
  let rest = address;
  for (const name of ['code', 'id_token_hint']) {
    const secret = URL.parse(address)?.searchParams.get(name);
    if (!secret) continue;
    watch.note(secret, name);
    rest = rest.replace(secret, '');
  }
  return rest;
}

/** Notes the settings of a service that are secrets or contain one. */
export function watchSettings(environment: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(environment)) {
    const password = URL.parse(value)?.password;
    if (password) watch.note(decodeURIComponent(password), `password of ${name}`);
    // The path of a file is no secret.
    if (secretKey.test(name) && !name.endsWith('_FILE')) watch.note(value, name);
  }
}

// More rows than any test writes.
const MAX_ROWS = 50_000;
const tables: readonly string[] = [
  'access_grants',
  'application_requests',
  'application_secrets',
  'application_sessions',
  'application_tokens',
  'audit_logs',
  'consents',
  'device_requests',
  'logout_backlog',
  'logout_notices',
  'outbox',
  'login_attempts',
  'idempotency_keys',
  'rate_limits',
  'used_proofs',
  'job_schedule',
];

/** Returns undefined when a test has removed the table or the database. */
export async function unlessGone<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    // Undefined table; refused, cut or terminated connections.
    if (/^(42P01|08...|57P..|53...|3D000|E[A-Z]+)$/.test(code)) return undefined;
    throw error;
  }
}

/** Checks the log and the tables that a service leaves behind, and reports the counts as a scenario. */
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
      const rows = await unlessGone(() => sql(`select t::text as row from ${table} t limit ${MAX_ROWS}`));
      if (!rows) continue;
      for (const { row } of rows) watch.assertClean(`table ${table}`, row);
      tried += rows.length;
      held += 1;
    }
    report({ ...outcome, tried, held, ok: true });
  } catch (error) {
    report({ ...outcome, tried, held });
    throw error;
  }
}
