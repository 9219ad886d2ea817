// A caller on a raw socket: what a signed-in browser would send, as text, and what came of it in the database.
// It must not judge answers.
import type { TestClient } from '../../client.ts';
import type { TestService } from '../../harness.ts';

export type RawCaller = {
  /** Bearer, CSRF token and cookie, each line with its end. */
  fields: string;
  /** The bearer alone. */
  bearer: string;
  /** Cookie and CSRF token alone. */
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

/** PUT /api/v1/users/me: its effect is seen in one column. `fields` end with CRLF each. */
export const change = (fields: string, rest: string, version = '1.1', host = 'Host: a\r\n'): string =>
  `PUT /api/v1/users/me HTTP/${version}\r\n${host}Content-Type: application/json\r\n${fields}\r\n${rest}`;

/** Whether a `change` of this account has had its effect; it is undone, so that the next one can be seen. */
export async function takeChange(service: TestService, email: string): Promise<boolean> {
  const changed = await service.sql(
    `update users set first_name = 'Before' where email = $1 and first_name = 'Changed' returning id`,
    [email],
  );
  return changed.length > 0;
}
