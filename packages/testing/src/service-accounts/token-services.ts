// Sends forms to the token services of OAuth 2.0, as a client without cookies does.
// It must not judge answers, except that `clientToken` needs a token.
import type { Answer } from '../client.ts';
import type { TestService } from '../harness.ts';
import { watch } from '../secret-watch.ts';
import type { TestServiceAccount } from './accounts.ts';

/** The fields of a form, or its text as it is sent. */
export type Form = Record<string, string> | string;

export const FORM_TYPE = 'application/x-www-form-urlencoded';

/** Returns the headers and the text of a form request, for senders of their own. */
export const formRequest = (form: Form, headers: Record<string, string | null> = {}) => ({
  raw: typeof form === 'string' ? form : new URLSearchParams(form).toString(),
  // Null keeps the client from getting a CSRF token.
  headers: { 'x-csrf-token': null, 'content-type': FORM_TYPE, ...headers },
});

/** Sends a form to `/api/v1/oauth/<endpoint>`. */
export const postForm = (
  service: TestService,
  endpoint: 'token' | 'device_authorization' | 'introspect' | 'par' | 'revoke',
  form: Form,
  headers: Record<string, string | null> = {},
): Promise<Answer> =>
  service.client().request('POST', `/api/v1/oauth/${endpoint}`, formRequest(form, headers));

/** Returns the Authorization header of HTTP Basic, with form-encoded parts as RFC 6749 demands. */
export const basicOf = (id: string, secret: string): { authorization: string } => {
  const credentials = `${encodeURIComponent(id)}:${encodeURIComponent(secret)}`;
  const encoded = Buffer.from(credentials).toString('base64');
  watch.note(encoded, 'Basic credentials');
  return { authorization: `Basic ${encoded}` };
};

/** Returns an access token made from the key of the account. */
export async function clientToken(
  service: TestService,
  { id, key }: Pick<TestServiceAccount, 'id' | 'key'>,
): Promise<string> {
  const answer = await postForm(service, 'token', { grant_type: 'client_credentials' }, basicOf(id, key));
  if (answer.status !== 200) throw new Error(`/oauth/token answered ${answer.status}: ${answer.text}`);
  return answer.body.access_token;
}
