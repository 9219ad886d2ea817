// What the scenarios of second factors share: users with each kind of factor, and whether an answer lets anybody in.
// It must not know what an attacker tries.
import assert from 'node:assert/strict';
import type { Answer, TestClient } from '@castellan/testing/client';
import type { TestService } from '@castellan/testing/harness';
import { addPasskeyUser } from '@castellan/testing/passkeys/own';
import { addAppUser } from '@castellan/testing/second-factors/app';
import type { Account } from '@castellan/testing/sessions/accounts';

export const AUTH = '/api/v1/auth';

/** An account with a factor, whose owner is signed in. */
export type Owner = Account & { client: TestClient; recoveryCodes: string[] };

export const owners: Readonly<Record<string, (service: TestService) => Promise<Owner>>> = {
  'an app': addAppUser,
  'a passkey': (service) => addPasskeyUser(service),
  'a security key': (service) => addPasskeyUser(service, { kind: 'security_key', verifiesUser: false }),
};

/** Checks that the answer holds no token and leaves no cookie that signs in or is trusted. */
export function assertLetsNobodyIn({ body, headers, text }: Answer, what: string): void {
  const { access_token, refresh_token } = body?.data ?? {};
  assert.deepEqual([access_token, refresh_token], [undefined, undefined], `${what}: ${text}`);
  const given = headers.getSetCookie().filter((cookie) => /^(refresh_token|device)=[^;]/.test(cookie));
  assert.deepEqual(given, [], what);
}

/** Every row that a sign-in, or a change of factors or trust, writes. */
const kept = `
  select (select count(*) from sessions where user_id = $1)::int as sessions,
    (select count(*) from devices where user_id = $1)::int as devices,
    (select array_agg(md5(secret_sealed)) from totp_factors where user_id = $1) as apps,
    (select array_agg(id order by id) from passkeys where user_id = $1) as passkeys,
    (select md5(string_agg(code_hash, ',' order by selector)) from recovery_codes where user_id = $1) as codes,
    (select md5(concat(email, password_hash, recovery_pending)) from users where id = $1) as account`;

/** Returns what an attack must leave as it was. */
export const stateOf = async (service: TestService, { id }: { id: string }): Promise<unknown> =>
  (await service.sql(kept, [id]))[0];
