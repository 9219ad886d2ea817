// What an audit entry says, without any layout: who, on what, what changed, whether it was refused.
// It must not show a secret: entries hold none, and what looks like one is masked all the same.
import type { AuditLogEntry, InputOf } from '@castellan/sdk';

type Query = NonNullable<InputOf<'GET /api/v1/audit-logs'>['query']>;
export type AuditAction = NonNullable<Query['action']>[number];

/** The actions that the service finds with `result=failure`. */
export const failureActions: readonly AuditAction[] = [
  'login_failed',
  'account_locked',
  'second_factor_failed',
  'second_factor_locked',
  'totp_suspended',
  'passkey_counter_regressed',
  'step_up_failed',
  'step_up_required',
  'registration_refused',
  'verification_refused',
  'password_refused',
  'refresh_failed',
  'refresh_origin_network_mismatch',
  'refresh_token_reuse',
  'permission_denied',
  'api_key_refused',
  'personal_token_refused',
  'application_authentication_failed',
  'application_sign_in_refused',
  'authorization_code_reuse',
  'application_refresh_token_reuse',
  'audit_log_forked',
  'logout_notice_failed',
  'webhook_paused',
  'provider_sign_in_failed',
  'csrf_refused',
  'rate_limited',
];

export type Tone = 'bad' | 'warn' | 'good' | 'gray' | 'accent';

/** Refusals are red, the end of something is yellow, a start is green, a sign-in is gray, everything else is a change. */
export function toneOf(action: string): Tone {
  if (failureActions.some((one) => one === action)) return 'bad';
  if (/_(deleted|erased|revoked|declined|withdrawn|reset)$|^self_deletion_requested$/.test(action))
    return 'warn';
  if (/_(created|registered|invited|accepted|verified|cloned)$/.test(action)) return 'good';
  return /^(login|logout|session_|client_token|access_previewed|verification_email|password_reset_req)/.test(
    action,
  )
    ? 'gray'
    : 'accent';
}

const textIn = (details: Record<string, unknown>, name: string): string | null => {
  const value = details[name];
  return typeof value === 'string' && value !== '' ? value : null;
};

export const addressOf = (entry: AuditLogEntry): string | null => textIn(entry.details, 'address');
export const reasonOf = ({ details }: AuditLogEntry): string | null =>
  textIn(details, 'reason') ??
  textIn(details, 'permission') ??
  textIn(details, 'code') ??
  textIn(details, 'limit');

/** Returns the name of who acted, or null if nobody known did. */
export const actorNameOf = ({ actor_name, actor_email, actor_id }: AuditLogEntry): string | null =>
  actor_name ?? actor_email ?? actor_id;

/** Returns the name of what was affected; null if the entry names nothing. */
export const targetNameOf = ({ resource_name, resource_id, details }: AuditLogEntry): string | null =>
  resource_name ?? textIn(details, 'email') ?? (resource_id === '' ? null : resource_id);

export type Change = {
  field: string;
  /** Null where the record did not exist. */
  before: string | null;
  after: string | null;
  /** Of lists: what was added and removed. */
  added?: string[];
  removed?: string[];
};

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isTextList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

const readable = (field: string, value: unknown): string => {
  const safe = masked(field, value);
  return typeof safe === 'string' ? safe : JSON.stringify(safe);
};

/** Returns the fields that a change touched, by name. */
export function changesOf({ details }: AuditLogEntry): Change[] {
  const before = isRecord(details.before) ? details.before : {};
  const after = isRecord(details.after) ? details.after : {};
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return fields.map((field) => {
    const [old, now] = [before[field], after[field]];
    const change = {
      field,
      before: old === undefined ? null : readable(field, old),
      after: now === undefined ? null : readable(field, now),
    };
    const lists = [old ?? [], now ?? []];
    const [was, is] = lists;
    if (!isTextList(was) || !isTextList(is) || was.length + is.length === 0) return change;
    return {
      ...change,
      added: is.filter((one) => !was.includes(one)),
      removed: was.filter((one) => !is.includes(one)),
    };
  });
}

const shownElsewhere = ['before', 'after'];

/** Returns the other details, as texts. */
export const factsOf = ({ details }: AuditLogEntry): { name: string; text: string }[] =>
  Object.entries(details)
    .filter(([name]) => !shownElsewhere.includes(name))
    .map(([name, value]) => ({ name, text: readable(name, value) }));

const SECRET_NAME = /password|secret|token$|hash|(^|_)key$/i;
const SECRET_TEXT = /\b(castellan_(?:pat_)?[A-Za-z0-9]{12})_[A-Za-z0-9_]+/g;
const MASK = '••••••';

/** Returns the value without what is or looks like a secret. Switches, such as `must_change_password`, stay. */
function masked(name: string, value: unknown): unknown {
  if (typeof value === 'string')
    return SECRET_NAME.test(name) ? MASK : value.replaceAll(SECRET_TEXT, `$1_${MASK}`);
  if (Array.isArray(value)) return value.map((one) => masked(name, one));
  if (isRecord(value))
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, masked(key, one)]));
  return value;
}

/** Returns the entry as it is, for people who need all of it, without secrets. */
export const rawOf = (entry: AuditLogEntry): string => JSON.stringify(masked('entry', entry), null, 2);

export type Day = { key: string; at: string; entries: AuditLogEntry[] };

/** Groups entries, which are in order, by the day that `dayOf` returns for a timestamp. */
export function byDay(entries: readonly AuditLogEntry[], dayOf: (iso: string) => string): Day[] {
  const days: Day[] = [];
  for (const entry of entries) {
    const key = dayOf(entry.timestamp);
    const last = days.at(-1);
    if (last?.key === key) last.entries.push(entry);
    else days.push({ key, at: entry.timestamp, entries: [entry] });
  }
  return days;
}

export type SentencePart = { type: 'text' | 'actor' | 'target'; text: string };

/** Splits a sentence such as "{actor} changed the role {target}". */
export const partsOf = (sentence: string): SentencePart[] =>
  sentence
    .split(/(\{actor\}|\{target\})/)
    .filter((text) => text !== '')
    .map((text) => {
      if (text === '{actor}') return { type: 'actor', text };
      return { type: text === '{target}' ? 'target' : 'text', text };
    });
