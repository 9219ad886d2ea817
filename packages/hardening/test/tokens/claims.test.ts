// Altered claims: under the old signature, signed by another key, and signed by our own key, which only we have. The
// last show that a signature is not enough: such a token differs from a real one only by the allowlist.
import { after } from 'node:test';
import { byTurns, scenariosOf } from '@castellan/testing/scenario';
import { type Base, compact, sealed, stranger, withMembers } from './forge.ts';
import { type Forgery, openForgeryTarget } from './forgery-target.ts';

const scenario = scenariosOf('tokens');
const target = await openForgeryTarget({ after });

const names = ['iss', 'sub', 'aud', 'iat', 'nbf', 'exp', 'jti', 'sid', 'client_id', 'type'] as const;
type Name = (typeof names)[number];

/**
 * Returns the payload with one claim replaced by this JSON text; undefined removes the claim, or makes one null that the token
 * does not have.
 */
function withText(base: Base, claim: Name, text: string | undefined): string {
  const replacement = text ?? (base.claims[claim] === undefined ? 'null' : undefined);
  const members = names.flatMap((name) => {
    const value = name === claim ? replacement : JSON.stringify(base.claims[name]);
    return value === undefined ? [] : [`${JSON.stringify(name)}:${value}`];
  });
  return `{${members.join(',')}}`;
}

/** Returns three forgeries with this change of the payload, each with another signature. */
function signings(name: string, change: (base: Base) => string, code?: Forgery['code']): Forgery[] {
  return [
    {
      name: `${name}, under the old signature`,
      make: (base) => compact(base.header, change(base), base.signature),
    },
    {
      name: `${name}, signed by another key`,
      make: (base) => sealed(base, base.header, change(base), stranger.ed25519.privateKey),
    },
    {
      name: `${name}, signed by our key`,
      make: (base) => sealed(base, base.header, change(base)),
      ...(code === undefined ? {} : { code }),
    },
  ];
}

// JSON texts. The last three are not JSON, but a lenient parser reads them as numbers.
const misshapen: (string | undefined)[] = [
  ...[undefined, 'null', 'true', 'false', '0.5', '-1', '-0', '1e300', '1e999', '9007199254740993'],
  ...['""', '" "', '"0"', '"1e3"', '"NaN"', '[]', '[0]', '{}', '{"$gt":""}', '{"toString":"x"}'],
  ...['NaN', 'Infinity', '0x7fffffff'],
];
const shapes = names.flatMap((claim, number) =>
  byTurns(misshapen, 7, number).flatMap((text) =>
    signings(
      `${claim} ${text ?? 'left out'}`,
      (base) => withText(base, claim, text),
      // Access tokens of version 0.2 had none.
      claim === 'client_id' && text === undefined ? 'token_revoked' : 'token_invalid',
    ),
  ),
);

scenario('a token with a claim missing or of a wrong shape is refused, whichever key signed', (tally) =>
  target.tryAll(tally, shapes, { byTurns: true }),
);

const HOUR = 3_600;
const moved: [string, (base: Base) => Record<string, unknown>, Forgery['code']?][] = [
  ['exp in the past', ({ claims }) => ({ exp: claims.iat - HOUR }), 'token_expired'],
  ['exp at its iat', ({ claims }) => ({ exp: claims.iat }), 'token_expired'],
  ['exp 0', () => ({ exp: 0 }), 'token_expired'],
  ['exp a day later', ({ claims }) => ({ exp: claims.exp + 24 * HOUR }), 'token_revoked'],
  ['exp a second later', ({ claims }) => ({ exp: claims.exp + 1 }), 'token_revoked'],
  ['exp in a thousand years', ({ claims }) => ({ exp: claims.exp + 8_766_000 * HOUR }), 'token_revoked'],
  ['exp in milliseconds', ({ claims }) => ({ exp: claims.exp * 1_000 }), 'token_revoked'],
  ['exp at the largest integer', () => ({ exp: Number.MAX_SAFE_INTEGER }), 'token_revoked'],
  ['iat in an hour', ({ claims }) => ({ iat: claims.iat + HOUR, exp: claims.exp + 2 * HOUR })],
  [
    'iat, and nbf where there is one, 0',
    ({ claims }) => ({ iat: 0, ...(claims.nbf === undefined ? {} : { nbf: 0 }) }),
    'token_revoked',
  ],
];
const later: [string, (base: Base) => number, Forgery['code']?][] = [
  ['nbf at its iat', ({ claims }) => claims.iat, 'token_revoked'],
  ['nbf in an hour', ({ claims }) => claims.iat + HOUR],
  ['nbf in a thousand years', ({ claims }) => claims.iat + 8_766_000 * HOUR],
];
const timed = [
  ...moved.flatMap(([name, change, code]) =>
    signings(name, (base) => withMembers(base.payload, change(base)), code),
  ),
  // A refresh token has this one already.
  ...later.flatMap(([name, nbf, code]) =>
    signings(
      name,
      (base) => withText(base, 'nbf', String(nbf(base) - (base.kind === 'refresh' ? 1 : 0))),
      code,
    ),
  ),
];

scenario('a token whose times were moved is refused, whichever key signed', (tally) =>
  target.tryAll(tally, timed),
);

const meant: [string, (base: Base) => Record<string, unknown>, Forgery['code']?][] = [
  ['another issuer', () => ({ iss: 'https://elsewhere.example' })],
  ['our issuer with a slash', ({ claims }) => ({ iss: `${claims.iss}/` })],
  ['our issuer in upper case', ({ claims }) => ({ iss: claims.iss.toUpperCase() })],
  ['our issuer with a port', ({ claims }) => ({ iss: `${claims.iss}:80` })],
  ['our issuer as a beginning', ({ claims }) => ({ iss: `${claims.iss}.evil.example` })],
  ['another audience', () => ({ aud: 'https://elsewhere.example' })],
  ['our audience among others', ({ claims }) => ({ aud: [claims.aud, 'https://elsewhere.example'] })],
  ['our audience alone in an array', ({ claims }) => ({ aud: [claims.aud] })],
  ['our audience with a slash', ({ claims }) => ({ aud: `${claims.aud}/` })],
  ['audience *', () => ({ aud: '*' })],
  [
    'the audience of the other kind',
    ({ kind }) => ({
      aud: `http://castellan.test${kind === 'access' ? '/api/v1/auth/refresh' : ''}`,
    }),
  ],
  ['the type of the other kind', ({ kind }) => ({ type: kind === 'access' ? 'refresh' : 'access' })],
  ['client_id of another application', () => ({ client_id: 'elsewhere' })],
  ['client_id that is its sub', ({ claims }) => ({ client_id: claims.sub })],
  ['type in upper case', ({ claims }) => ({ type: claims.type.toUpperCase() })],
  ['type admin', () => ({ type: 'admin' })],
  ['sub of nobody', () => ({ sub: crypto.randomUUID() }), 'token_revoked'],
  ['sub of the nil UUID', () => ({ sub: '00000000-0000-0000-0000-000000000000' }), 'token_revoked'],
  ['sub in upper case', ({ claims }) => ({ sub: claims.sub.toUpperCase().replace(/\d/, 'A') })],
  ['sub in braces', ({ claims }) => ({ sub: `{${claims.sub}}` })],
  ['sub without dashes', ({ claims }) => ({ sub: claims.sub.replaceAll('-', '') })],
  ['sub with a line end', ({ claims }) => ({ sub: `${claims.sub}\n` })],
  ['sub that is an email', () => ({ sub: 'admin@example.com' })],
  ['sub that is SQL', ({ claims }) => ({ sub: `${claims.sub}' or true --` })],
  ['sid of no session', () => ({ sid: crypto.randomUUID() }), 'token_revoked'],
  ['jti of no token', () => ({ jti: crypto.randomUUID() }), 'token_revoked'],
  ['jti that is its sid', ({ claims }) => ({ jti: claims.sid }), 'token_revoked'],
];
const readdressed = meant.flatMap(([name, change, code]) =>
  signings(name, (base) => withMembers(base.payload, change(base)), code),
);

scenario('a token with another issuer, audience or subject is refused, whichever key signed', (tally) =>
  target.tryAll(tally, readdressed),
);

scenario(
  'a token with the sub, sid or jti of another live one is refused, although our key signed it',
  async (tally) => {
    const other = (base: Base) => target.bases[base.kind === 'access' ? 'refresh' : 'access'].claims;
    const added = await target.addSession();
    const borrowed: [string, (base: Base) => Record<string, unknown>][] = [
      ['the jti of the other token', (base) => ({ jti: other(base).jti })],
      ['the sid of another session', () => ({ sid: added.claims.sid })],
      ['the jti of another session', () => ({ jti: added.claims.jti })],
      [
        'sid and jti of another session',
        ({ claims }) => ({ sid: added.claims.sid, jti: added.claims.jti, iat: claims.iat - 1 }),
      ],
      ['the sub of another user', () => ({ sub: added.stranger.sub })],
      ['sub and sid of another user', () => ({ sub: added.stranger.sub, sid: added.stranger.sid })],
      [
        'sub, sid and jti of another user',
        () => {
          const { sub, sid, jti } = added.stranger;
          return { sub, sid, jti, iat: added.stranger.iat - 1 };
        },
      ],
    ];
    await target.tryAll(
      tally,
      borrowed.flatMap(([name, change]) =>
        signings(name, (base) => withMembers(base.payload, change(base)), 'token_revoked'),
      ),
    );
  },
);

const added: [string, (payload: string) => string][] = [
  ['sub twice, the other last', (text) => text.replace(/}$/, `,"sub":"${crypto.randomUUID()}"}`)],
  ['sub twice, the other first', (text) => text.replace('{', `{"sub":"${crypto.randomUUID()}",`)],
  ['exp twice', (text) => text.replace(/}$/, ',"exp":9999999999}')],
  ['type twice', (text) => text.replace('{', '{"type":"admin",')],
  ['the same sub twice', (text) => text.replace('{', `{${/"sub":"[^"]+"/.exec(text)?.[0]},`)],
  ['is_superuser', (text) => text.replace(/}$/, ',"is_superuser":true}')],
  ['permissions', (text) => text.replace(/}$/, ',"permissions":["users.delete"]}')],
  ['scope', (text) => text.replace(/}$/, ',"scope":"*"}')],
  ['__proto__', (text) => text.replace(/}$/, ',"__proto__":{"type":"access"}}')],
  ['claims only by __proto__', (text) => `{"__proto__":${text}}`],
  ['constructor', (text) => text.replace(/}$/, ',"constructor":{"prototype":{"type":"access"}}}')],
  ['an empty name', (text) => text.replace(/}$/, ',"":""}')],
  ['names in upper case', (text) => text.replace('"sub"', '"SUB"')],
  ['names with an escape', (text) => text.replace('"sub"', '"\\u0073ub"')],
  ['values with an escape', (text) => text.replace('"http:', '"\\u0068ttp:')],
  ['slashes escaped', (text) => text.replaceAll('/', '\\/')],
  [
    'members in another order',
    (text) => JSON.stringify({ type: JSON.parse(text).type, ...JSON.parse(text) }),
  ],
  ['a space before', (text) => ` ${text}`],
  ['a line end after', (text) => `${text}\n`],
  ['spaces within', (text) => text.replaceAll(',', ', ')],
  ['a byte order mark', (text) => `\ufeff${text}`],
  ['a comment', (text) => text.replace('{', '{/**/')],
  ['a trailing comma', (text) => text.replace(/}$/, ',}')],
  ['a second object', (text) => `${text}{}`],
  ['numbers with a fraction', (text) => text.replace(/"exp":(\d+)/, '"exp":$1.0')],
  ['numbers with an exponent', (text) => text.replace(/"exp":(\d+)/, '"exp":$1e0')],
  ['an array around', (text) => `[${text}]`],
  ['a string around', (text) => JSON.stringify(text)],
  ['null', () => 'null'],
  ['an empty object', () => '{}'],
  ['a number', () => '1'],
  ['no JSON', () => 'sub=admin'],
  ['form fields', (text) => new URLSearchParams(JSON.parse(text)).toString()],
  ['brackets without end', () => '['.repeat(1_400)],
];
const respelt = added.flatMap(([name, change]) =>
  signings(`claims with ${name}`, (base) => change(base.payload)),
);

scenario('claims in any other spelling than ours are refused, whichever key signed', (tally) =>
  target.tryAll(tally, respelt),
);
