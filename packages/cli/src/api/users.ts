// What the commands of users do beyond one call: reading lists in the order of ids, and mails with a link.
import type { InputOf, ListedUser, Page } from '@castellan/sdk';
import { Failure } from '../command.ts';
import type { Api } from './connection.ts';

export type UserQuery = NonNullable<InputOf<'GET /api/v1/users/list'>['query']>;

/** Reads users in the order of ids, each once, also while others are created and deleted. */
export async function* pagesById(
  { client }: Api,
  query: UserQuery,
): AsyncGenerator<Page<ListedUser>, void, undefined> {
  for (let after: string | undefined; ; ) {
    const page = { ...query, sort: 'id' as const, ...(after === undefined ? {} : { after }) };
    const { data } = await client.get('/api/v1/users/list', { query: page });
    yield { items: data.items, total: data.total };
    after = data.items.at(-1)?.id;
    if (after === undefined || data.items.length < data.size) return;
  }
}

/** Sends the mail with which a user sets a new password. The service answers the same whether the email is known. */
export async function sendPasswordLink({ client }: Api, email: string): Promise<void> {
  // This operation is public, and wants the proof of a browser from everyone.
  const { result, headers } = await client.request('GET /api/v1/auth/csrf-token');
  await client.post('/api/v1/auth/password-reset/request', {
    body: { email },
    headers: {
      cookie: headers
        .getSetCookie()
        .map((cookie) => cookie.split(';')[0])
        .join('; '),
      'x-csrf-token': result.data.csrf_token,
    },
  });
}

/** Reads the email of a user who is named by an id. */
export async function emailOf({ client }: Api, id: string): Promise<string> {
  const { data } = await client.get('/api/v1/users/{user_id}', { path: { user_id: id } });
  if (!data.is_active)
    throw new Failure(1, `${data.email} is not active. No mail was sent: activate the user first.`);
  return data.email;
}
