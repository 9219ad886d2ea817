// Reads the parameters of an authorization request from a query or a form.
// It must not be lenient: no two programs may read different values from one request.
import { isUtf8 } from 'node:buffer';
import { decodeFormText } from '../../../platform/http/plugins/form-parsing.ts';
import { MAX_HINT } from '../id-token-hint.ts';

const names = [
  'client_id',
  'redirect_uri',
  'response_type',
  'response_mode',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'prompt',
  'max_age',
  'claims',
  'acr_values',
  'login_hint',
  'id_token_hint',
  'ui_locales',
  'request',
  'request_uri',
  'dpop_jkt',
  'interaction',
] as const;
type ParameterName = (typeof names)[number];
const known: ReadonlySet<string> = new Set(names);

/**
 * Each once, without empty ones. `resource` may be repeated (RFC 8707, 2). `hint_sub`: what is kept of an `id_token_hint`; no request
 * can send it.
 */
export type Parameters = { readonly [name in ParameterName | 'hint_sub']?: string } & {
  readonly resource: readonly string[];
};

/** `too_large`: 414. */
export type ParameterFault = 'malformed' | 'repeated' | 'too_large';

/** Characters of one value, and of all. */
const MAX_VALUE = 4_096;
const MAX_ALL = 16_384;
const isTooLong = (name: string, value: string): boolean =>
  value.length > (name === 'id_token_hint' ? MAX_HINT : MAX_VALUE);
/** Pairs of a request: more than twice as many as there are names. */
const MAX_PAIRS = 100;

/** Returns the parameters of an encoded text. Unknown ones are left out. */
export function readParameters(encoded: Buffer | string): Parameters | ParameterFault {
  if (encoded.length > MAX_ALL) return 'too_large';
  if (typeof encoded !== 'string' && !isUtf8(encoded)) return 'malformed';
  const pairs = encoded.toString().split('&', MAX_PAIRS + 1);
  if (pairs.length > MAX_PAIRS) return 'too_large';
  const values = new Map<string, string>();
  const resource: string[] = [];
  for (const pair of pairs) {
    if (pair === '') continue;
    const [, rawName = '', rawValue = ''] = /^([^=]*)=?(.*)$/s.exec(pair) ?? [];
    const name = decodeFormText(rawName);
    const value = decodeFormText(rawValue);
    // PostgreSQL stores no NUL.
    if (name === undefined || value === undefined || value.includes('\0')) return 'malformed';
    if (isTooLong(name, value)) return 'too_large';
    if (name === 'resource') {
      if (value !== '') resource.push(value);
      continue;
    }
    if (values.has(name)) return 'repeated';
    values.set(name, value);
  }
  const kept = [...values].filter(([name, value]) => known.has(name) && value !== '');
  return { ...Object.fromEntries(kept), resource: [...new Set(resource)] };
}

/** As `readParameters`, of the fields of a form. What belongs to no pushed request is left out (RFC 9126, 2.1). */
export function parametersOfForm(
  form: Readonly<Record<string, unknown>>,
): Parameters | Extract<ParameterFault, 'too_large'> {
  const { interaction: _page, ...given } = parametersIn(form);
  return Object.entries(given).some(([name, values]) =>
    [values].flat().some((value) => isTooLong(name, value)),
  )
    ? 'too_large'
    : { ...given, resource: [...new Set(given.resource)] };
}

/** Returns what is kept of a request that is in order. `hintSub`: whom its ID token names. The token itself is nobody's business. */
export const keptParameters = (
  { id_token_hint: _token, ...parameters }: Parameters,
  { hintSub }: { hintSub: string | null },
): Parameters => (hintSub === null ? parameters : { ...parameters, hint_sub: hintSub });

/** Returns the parameters of a stored request. */
export function storedParameters(stored: Record<string, unknown>): Parameters {
  const { hint_sub: hintSub } = stored;
  return { ...parametersIn(stored), ...(typeof hintSub === 'string' ? { hint_sub: hintSub } : {}) };
}

function parametersIn(stored: Record<string, unknown>): Parameters {
  const kept = Object.entries(stored).filter(([name, value]) => known.has(name) && typeof value === 'string');
  const { resource } = stored;
  const targets = Array.isArray(resource) ? resource.filter((one) => typeof one === 'string') : [];
  return { ...Object.fromEntries(kept), resource: targets };
}
