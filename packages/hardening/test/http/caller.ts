// Builds raw requests of a signed-in browser, and reads their effect from the database.
// It must not judge answers.
import type { TestClient } from '@castellan/testing/client';
import type { TestService } from '@castellan/testing/harness';

export type RawCaller = {
  /** The header lines of bearer, CSRF token and cookie, each with CRLF. */
  fields: string;
  /** Only the bearer. */
  bearer: string;
  /** Only cookie and CSRF token. */
  csrf: string;
};

export async function rawCaller(client: TestClient): Promise<RawCaller> {
  const token = (await client.get('/api/v1/auth/csrf-token')).body.data.csrf_token;
  const bearer = `Authorization: Bearer ${client.accessToken}\r\n`;
  const csrf = `X-CSRF-Token: ${token}\r\nCookie: csrf_token=${client.cookies.get('csrf_token')}\r\n`;
  return { fields: bearer + csrf, bearer, csrf };
}

export const BODY = '{"first_name":"Changed"}';
export const CHUNKED_BODY = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;

/** Returns a PUT /api/v1/users/me that changes `first_name`. Each of the `fields` ends with CRLF. */
export const change = (fields: string, rest: string, version = '1.1', host = 'Host: a\r\n'): string =>
  `PUT /api/v1/users/me HTTP/${version}\r\n${host}Content-Type: application/json\r\n${fields}\r\n${rest}`;

/** Returns whether a `change` of this account was made, and undoes it for the next one. */
export async function takeChange(service: TestService, email: string): Promise<boolean> {
  const changed = await service.sql(
    `update users set first_name = 'Before' where email = $1 and first_name = 'Changed' returning id`,
    [email],
  );
  return changed.length > 0;
}
