// Reads the answer of an introspection (RFC 7662; RFC 9470, section 6.2).
import { isAcr } from '../levels.ts';
import { GuardError } from './errors.ts';
import { isRecord, isText, isTexts, type Json } from './json.ts';
import type { Requirement } from './requirement.ts';
import { folded, type Identity, type Inspection } from './subject.ts';

export const INTROSPECT = '/api/v1/oauth/introspect';

export const malformed = (path: string, what: string): GuardError =>
  new GuardError('unavailable', `The answer of ${path} is malformed: ${what}.`);

const wrongType = (): GuardError => malformed(INTROSPECT, 'a member has the wrong type');

/** By which Castellan names itself as the client of its own sessions. */
const OWN_CLIENT = 'castellan';

/**
 * Returns undefined for a token that is not active, and for one of an application unless it is for this audience. Throws
 * `invalid_token` for one that is bound to a key, and `unavailable` for an answer that is malformed. `isPersonal`: of a personal
 * access token, which belongs to no session.
 */
export function inspectionOf(answer: Json, audience?: string, isPersonal = false): Inspection | undefined {
  const { active, sub, username, client_id, aud, jti, sid, exp, iat, permissions, token_type, cnf } = answer;
  if (active === false) return undefined;
  if (active !== true || !isText(sub) || !isText(username) || !isText(jti) || !Number.isFinite(iat))
    throw malformed(INTROSPECT, 'a member is missing');
  if (!isTexts(permissions) || (exp !== undefined && !Number.isFinite(exp))) throw wrongType();
  // Castellan 0.2 names no client of users. An application that a user signed in to is named by its own client id.
  // Who has a session is a user, however an application is named.
  const type = client_id === sub && sid === undefined ? 'service_account' : 'user';
  const isOfApplication = type === 'user' && client_id !== undefined && client_id !== OWN_CLIENT;
  if (isOfApplication && (audience === undefined || aud !== audience)) return undefined;
  // A thief could send it: a guard sees no proof of its key (RFC 9449, 7.2).
  if (token_type === 'DPoP' || cnf !== undefined)
    throw new GuardError(
      'invalid_token',
      'The token is bound to a key (DPoP), which a guard does not verify.',
    );
  const scopes = isOfApplication ? scopesIn(answer) : undefined;
  if (type === 'user' && !isText(sid) && !(isPersonal && sid === undefined))
    throw malformed(INTROSPECT, 'a member is missing');
  return {
    identity: Object.freeze({
      type,
      id: sub,
      name: username,
      tokenId: jti,
      sessionId: isText(sid) ? sid : undefined,
      expiresAt: exp === undefined ? undefined : Number(exp) * 1_000,
      ...proofOf(answer),
      ...actorOf(answer),
      ...(isText(client_id) && scopes && { clientId: client_id, scopes }),
    }),
    // What the user of an application may do counts only as far as the token carries it.
    permissions: new Set((scopes ?? permissions).map(folded)),
    stepUps: stepUpsOf(answer.step_up),
  };
}

function scopesIn({ scope = '' }: Json): readonly string[] {
  if (typeof scope !== 'string') throw wrongType();
  return Object.freeze(scope.split(' ').filter((one) => one !== ''));
}

/** A token without these members has the lowest level. So has one of a level that is not known here. */
function proofOf({ acr, amr = [], auth_time }: Json): Pick<Identity, 'acr' | 'amr' | 'authTime'> {
  const isWrong =
    (acr !== undefined && !isText(acr)) ||
    !isTexts(amr) ||
    (auth_time !== undefined && !Number.isFinite(auth_time));
  if (isWrong) throw wrongType();
  return {
    acr: isAcr(acr) ? acr : 'aal1',
    amr: Object.freeze([...amr]),
    authTime: auth_time === undefined ? undefined : Number(auth_time) * 1_000,
  };
}

function actorOf({ act }: Json): Pick<Identity, 'actedBy'> {
  if (act === undefined) return {};
  if (!isRecord(act) || !isText(act.sub)) throw wrongType();
  return { actedBy: act.sub };
}

function stepUpsOf(entries: unknown = []): Map<string, Requirement> {
  if (!Array.isArray(entries)) throw wrongType();
  return new Map(entries.map(stepUpOf));
}

function stepUpOf(entry: unknown): [permission: string, Requirement] {
  const { permission, acr_values, max_age }: Json = isRecord(entry) ? entry : {};
  // The levels are in ascending order: the first is the weakest that would do.
  const acr = isText(acr_values) ? acr_values.split(' ').find(isAcr) : undefined;
  if (!isText(permission) || acr === undefined || (max_age !== undefined && !Number.isFinite(max_age)))
    throw wrongType();
  return [folded(permission), { acr, ...(max_age !== undefined && { maxAgeSeconds: Number(max_age) }) }];
}
