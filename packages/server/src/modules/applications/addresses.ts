// Which addresses an application may register. Redirect addresses are compared character by character later, so each must
// have one spelling only, and one that every browser reads as it is written here.
// It must not change an address, except origins.

import { BlockList, isIP, isIPv6 } from 'node:net';
import type { ApplicationType } from '@castellan/contract/applications';
import { refusal } from './refusal.ts';

/** `isPlain`: PUBLIC_URL begins with http, so that http is nothing new. */
type RedirectRules = { type: ApplicationType; isPlain: boolean };

const loopbackHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

const privateNetworks = new BlockList();
privateNetworks.addSubnet('10.0.0.0', 8);
privateNetworks.addSubnet('172.16.0.0', 12);
privateNetworks.addSubnet('192.168.0.0', 16);
privateNetworks.addSubnet('127.0.0.0', 8);
privateNetworks.addSubnet('fc00::', 7, 'ipv6');
privateNetworks.addAddress('::1', 'ipv6');

/** RFC 8252, 7.1: a scheme that is a domain name in reverse order. */
const PRIVATE_SCHEME = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:\/{0,3}([^?]*)(?:\?.*)?$/;
const HTTP = /^(https?):\/\/([^/?]*)([^?]*)(?:\?.*)?$/;
/** A segment `.` or `..`, also with encoded dots. Browsers resolve it. */
const DOT_SEGMENT = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i;

/** Each fault with what to write instead, in the order in which they are looked for. */
const faults: readonly [test: (text: string) => boolean, code: string, message: string][] = [
  [
    (text) => /[^\x21-\x7e]/.test(text),
    'unsafe_character',
    'must consist of visible ASCII characters; percent-encode others',
  ],
  [(text) => text.includes('*'), 'wildcard', 'must not contain *; register each address'],
  [(text) => /[\\"<>^`{|}]/.test(text), 'unsafe_character', 'must not contain \\ " < > ^ ` { | or }'],
  [(text) => text.includes('#'), 'fragment', 'must not have a fragment; leave out # and what follows'],
];

function requireOneSpelling(text: string, field: string): void {
  const fault = faults.find(([test]) => test(text));
  if (fault) throw refusal(field, fault[1], fault[2]);
}

function requirePlainPath(path: string, field: string): void {
  if (path.includes(';')) throw refusal(field, 'unsafe_path', 'must not contain ; in its path');
  if (DOT_SEGMENT.test(path))
    throw refusal(
      field,
      'unsafe_path',
      'must not contain the path segments . or ..; write the path that is meant',
    );
}

/** Returns the host of an http or https URL without its port, or throws. A host has one spelling only. */
function hostOf(text: string, authority: string, field: string): string {
  if (authority.includes('@'))
    throw refusal(field, 'user_info', 'must not contain a user name or a password');
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (
    !url ||
    (url.host !== authority && `${url.hostname}:${url.protocol === 'https:' ? 443 : 80}` !== authority)
  )
    throw refusal(
      field,
      'invalid_host',
      `must name a host as browsers write it, in lower case${url ? `: ${url.host}` : ', such as app.example.com'}`,
    );
  return url.hostname;
}

const notAnAddress = (field: string) =>
  refusal(field, 'invalid_url', 'must be a whole address, such as https://app.example.com/callback');

/** Throws unless people may be sent back to this address. */
export function requireRedirectAddress(text: string, field: string, { type, isPlain }: RedirectRules): void {
  requireOneSpelling(text, field);
  const [, scheme, authority = '', path = ''] = HTTP.exec(text) ?? [];
  if (scheme === undefined) {
    const [, rest] = type === 'native' ? (PRIVATE_SCHEME.exec(text) ?? []) : [];
    if (rest === undefined) throw notAnAddress(field);
    if (rest.includes('@')) throw refusal(field, 'user_info', 'must not contain a user name or a password');
    requirePlainPath(rest, field);
    return;
  }
  const host = hostOf(text, authority, field);
  if (scheme === 'http' && !isPlain && !loopbackHosts.has(host)) throw notSecure(field);
  requirePlainPath(path, field);
}

const notSecure = (field: string) =>
  refusal(field, 'not_https', 'must begin with https://; http is for 127.0.0.1, [::1] and localhost only');

/** Throws unless this is an https URL, or an http one of a host that `mayBePlain` accepts. */
function requireUrl(text: string, field: string, mayBePlain: (host: string) => boolean): void {
  requireOneSpelling(text, field);
  const [, scheme, authority = ''] = HTTP.exec(text) ?? [];
  if (scheme === undefined) throw notAnAddress(field);
  const host = hostOf(text, authority, field);
  if (scheme === 'http' && !mayBePlain(host)) throw notSecure(field);
}

/** Throws unless this is an https URL, or an http one of this machine. */
export const requirePageAddress = (text: string, field: string): void =>
  requireUrl(text, field, (host) => loopbackHosts.has(host));

/** As `requirePageAddress`; http is also for addresses of private networks. */
export const requireLogoutAddress = (text: string, field: string): void =>
  requireUrl(text, field, (host) => loopbackHosts.has(host) || isPrivate(host.replaceAll(/[[\]]/g, '')));

const isPrivate = (host: string): boolean =>
  isIP(host) !== 0 && privateNetworks.check(host, isIPv6(host) ? 'ipv6' : 'ipv4');

/** Throws unless this is the name of a host, without a port. */
export function requireHost(text: string, field: string): void {
  const url = URL.canParse(`https://${text}`) ? new URL(`https://${text}`) : undefined;
  if (url?.host !== text || url.hostname !== text || text === '')
    throw refusal(field, 'invalid_host', 'must be the name of a host in lower case, such as example.com');
}

/** Returns the hosts of the http and https addresses, each once, without ports. */
export const hostsOf = (addresses: readonly string[]): string[] => [
  ...new Set(addresses.filter((one) => HTTP.test(one)).map((one) => new URL(one).hostname)),
];
