// The operations of the second step of a sign-in, and of step-up.
import { isRecord } from '../guard/json.ts';
import { type Acr, isAcr, reaches } from '../levels.ts';
import type { Account } from './accounts.ts';
import {
  type Answering,
  done,
  failure,
  REFRESH,
  type StandInAnswer,
  signedIn,
  textIn,
  unauthenticated,
  userRequired,
} from './answers.ts';
import { contextOf } from './contexts.ts';
import type { CodeRefusal } from './factors.ts';

type Proof = { name: string; text: string };
const codes = ['totp', 'recovery_code'];

/** Returns the proof in a body, or the refusal of a body that does not have exactly one. */
function proofIn(body: unknown, names: readonly string[]): Proof | StandInAnswer {
  const given = isRecord(body) ? names.filter((name) => body[name] !== undefined) : [];
  const [name = ''] = given;
  const text = textIn(body, name);
  const isCode = name !== 'totp' || /^\d{6}$/.test(text.replaceAll(' ', ''));
  return given.length === 1 && text !== '' && isCode
    ? { name, text }
    : failure(
        422,
        'validation_failed',
        'The request lacks a required field or contains a value that is not allowed. See errors.',
        {
          errors: names.map((field) => ({
            field,
            code: 'required',
            message: `send exactly one of ${names.join(', ')}`,
          })),
        },
      );
}

function refusalFor({ factors }: Account, { name, text }: Proof): CodeRefusal | undefined {
  if (!factors) return 'second_factor_invalid';
  return name === 'totp' ? factors.takeCode(text) : factors.takeRecoveryCode(text);
}

const details: Readonly<Record<CodeRefusal, string>> = {
  second_factor_invalid:
    'This code is wrong or was used. Check the time of your device and try the next one.',
  code_already_used: 'This code was just used. Wait for the next one.',
};

const expired = failure(422, 'sign_in_expired', 'This sign-in is over. Start again with your password.');

export const secondStep: Answering = async (request, accounts) => {
  const { body, cookies } = request;
  const { secondSteps } = accounts;
  const proof = proofIn(body, codes);
  if ('status' in proof) return proof;
  const token = textIn(body, 'token');
  const account = secondSteps.find(token, cookies);
  if (!account) return expired;
  const refused = refusalFor(account, proof);
  if (refused === 'second_factor_invalid')
    return failure(422, refused, details[refused], { attempts_left: secondSteps.countWrong(token) });
  if (refused) return failure(422, refused, details[refused]);
  secondSteps.complete(token);
  return done(await signedIn(account, request, accounts, contextOf('aal2')), 'You are signed in.');
};

const acrIn = (body: unknown): Acr => {
  const acr = textIn(body, 'acr');
  return isAcr(acr) ? acr : 'aal1';
};

export const stepUpWays: Answering = ({ bearer, body }, accounts) => {
  const found = accounts.inspect(bearer ?? '');
  if (!found) return unauthenticated(bearer);
  if (found.claims.sid === undefined) return userRequired;
  const acr = acrIn(body);
  const level = found.account.factors ? 'aal2' : 'aal1';
  if (!reaches(level, acr))
    return failure(
      403,
      'second_factor_enrolment_required',
      'Your account needs a second factor. Set one up under /api/v1/auth/factors; until then, other operations are refused.',
      { required_acr: acr },
    );
  const methods = found.account.factors ? codes : ['password'];
  const expires_at = new Date(Date.now() + 600_000).toISOString();
  return done({ methods, expires_at }, 'Confirm in one of these ways.');
};

/** An account with a factor proves it with a code, another one with its password. */
export const stepUp: Answering = async ({ bearer, body, cookies }, accounts) => {
  const found = accounts.inspect(bearer ?? '');
  if (!found) return unauthenticated(bearer);
  if (found.claims.sid === undefined) return userRequired;
  const { account } = found;
  const proof = proofIn(body, account.factors ? codes : ['password']);
  if ('status' in proof) return proof;
  if (proof.name === 'password' && proof.text !== account.password)
    return failure(400, 'wrong_current_password', 'The current password is wrong.');
  const refused = proof.name === 'password' ? undefined : refusalFor(account, proof);
  if (refused) return failure(422, refused, details[refused]);
  const acr = account.factors ? 'aal2' : 'aal1';
  const context = contextOf(acr);
  const { access, refresh } = await accounts.stepUp(found, context);
  cookies.set(REFRESH, refresh);
  const auth_time = new Date(context.authTime * 1_000).toISOString();
  return done(
    { access_token: access, token_type: 'bearer', refresh_token: refresh, acr, auth_time },
    'Confirmed.',
  );
};
