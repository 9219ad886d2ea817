// Warns of settings that are allowed but probably a mistake, in sentences that say what to do.
// It must not show the value of a secret setting, nor open a connection.
import ipaddr from 'ipaddr.js';
import { accentStyle } from '../../modules/console/accent-color.ts';
import { addressOfSender } from '../../platform/mail/transport.ts';
import { describeAddress, isReachedLocally, type MetricsAddress } from '../../platform/metrics/address.ts';
import { guessingBits } from './key-guessability.ts';
import { passkeyWarnings } from './passkey-warnings.ts';
import { unencryptedConnections } from './unencrypted-connections.ts';

type Judged = Parameters<typeof passkeyWarnings>[0] & {
  cookieSecure: boolean;
  smtpUrl?: string | undefined;
  mailFrom: string;
  accentColor: string;
  secretKey?: string | undefined;
  databaseUrl?: string | undefined;
  metricsAddress?: MetricsAddress | undefined;
  databaseReplicaUrl?: string | undefined;
};

/** Returns the warnings. `names`: the environment variables that are settings. */
export function settingWarnings(
  settings: Judged,
  environment: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): string[] {
  return [
    ...misspelled(Object.keys(environment), names),
    ...cookieWarnings(settings),
    ...senderWarnings(settings),
    ...accentWarnings(settings),
    ...keyWarnings(settings),
    ...encodingWarnings('DATABASE_URL', settings.databaseUrl),
    ...encodingWarnings('DATABASE_REPLICA_URL', settings.databaseReplicaUrl),
    ...metricsWarnings(settings),
    ...unencryptedConnections(settings),
    ...passkeyWarnings(settings),
  ];
}

function misspelled(given: readonly string[], names: readonly string[]): string[] {
  const known = new Set(names);
  return given
    .filter((name) => !known.has(name))
    .flatMap((name) => {
      const meant = names.find((one) => isOneEditAway(name.toUpperCase(), one));
      return meant === undefined
        ? []
        : [`${name} is not a setting of Castellan and is ignored. If you mean ${meant}, rename it.`];
    });
}

/** Whether the texts are equal, or differ in one inserted, removed or replaced character or two swapped neighbours. */
export function isOneEditAway(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  const [inA, inB] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  if (inA.length <= 1 && inB.length <= 1) return true;
  return inA.length === 2 && inB.length === 2 && inA[0] === inB[1] && inA[1] === inB[0];
}

function cookieWarnings({ publicUrl, cookieSecure }: Judged): string[] {
  const { protocol, hostname } = new URL(publicUrl);
  return cookieSecure && protocol === 'http:' && !isLocal(hostname)
    ? [
        'PUBLIC_URL is http and COOKIE_SECURE is on, so browsers do not keep the refresh cookie. Serve Castellan over https and set PUBLIC_URL to that address, or set COOKIE_SECURE=false on a network where nobody can eavesdrop.',
      ]
    : [];
}

function isLocal(hostname: string): boolean {
  const bare = hostname.replace(/^\[|\]$/g, '');
  if (bare === 'localhost' || bare.endsWith('.localhost')) return true;
  return ipaddr.isValid(bare) && ipaddr.process(bare).range() === 'loopback';
}

const senderWarnings = ({ smtpUrl, mailFrom }: Judged): string[] =>
  smtpUrl !== undefined && /@localhost$/i.test(addressOfSender(mailFrom))
    ? [
        'SMTP_URL is set, but MAIL_FROM is an address at localhost, which other mail servers refuse. Set MAIL_FROM to an address of your domain.',
      ]
    : [];

/** Property → where people see the colour. */
const usesOfAccent: Readonly<Record<string, string>> = {
  '--accent': 'as the background of buttons',
  '--accent-text': 'for links',
  '--accent-ring': 'for the focus ring',
};

/** Judges light pages only: no colour has enough contrast on light and on dark pages. */
function accentWarnings({ accentColor }: Judged): string[] {
  const adjusted = accentStyle(accentColor).adjusted.filter(({ theme }) => theme === 'light');
  if (adjusted.length === 0) return [];
  const uses = adjusted.map(({ property, color }) => `${color} ${usesOfAccent[property]}`);
  return [
    `ACCENT_COLOR ${accentColor} has too little contrast on light pages. They use ${uses.join(', ')}. Set a darker colour to use it unchanged.`,
  ];
}

// 80 bits cannot be guessed. Random keys stay above that: the lowest estimate of 30,000 keys of 32 bytes was 126 in base64
// and 186 in hex. Of 100,000 keys of 16 bytes in hex, 10 had 83 or less.
const MIN_GUESSING_BITS = 80;
const placeholder = /change.?(me|this|it)|example|password|placeholder|your.?secret|0123456789|abcdefgh/i;

const keyWarnings = ({ secretKey }: Judged): string[] =>
  secretKey !== undefined && (placeholder.test(secretKey) || guessingBits(secretKey) < MIN_GUESSING_BITS)
    ? [
        'SECRET_KEY looks guessable. Anyone who guesses it can decrypt the signing keys in the database. Generate one with: openssl rand -base64 48 (a new key ends every session; see castellan reset-keys).',
      ]
    : [];

const metricsWarnings = ({ metricsAddress }: Judged): string[] =>
  metricsAddress === undefined || isReachedLocally(metricsAddress)
    ? []
    : [
        `METRICS_ADDRESS ${describeAddress(metricsAddress)} can be reached from other machines, and metrics need no credentials. Let a firewall admit only the scraper, or set it to 127.0.0.1:${'port' in metricsAddress ? metricsAddress.port : ''} or to a socket.`,
      ];

/** Warns of characters that the driver and the URL standard read differently, or that lead to another host. */
function encodingWarnings(name: string, databaseUrl: string | undefined): string[] {
  if (databaseUrl === undefined) return [];
  const [, authority = '', rest = ''] = /^[a-z]+:\/\/([^/?#]*)(.*)$/is.exec(databaseUrl) ?? [];
  const login = authority.slice(0, Math.max(0, authority.lastIndexOf('@')));
  const colon = login.indexOf(':');
  const parts = colon === -1 ? [login] : [login.slice(0, colon), login.slice(colon + 1)];
  const isRaw = parts.some((part) => /[@:[\]\s]|%(?![0-9a-f]{2})/i.test(part));
  return isRaw || (login === '' && rest.includes('@'))
    ? [
        `${name} contains characters in the user or password that must be percent-encoded: @ is %40, : is %3A, / is %2F, ? is %3F, # is %23, % is %25.`,
      ]
    : [];
}
