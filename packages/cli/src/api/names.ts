// Finds records by what people call them: users by email, everything else by name. An id is always accepted.
import { Failure, UsageError } from '../command.ts';
import type { Api } from './connection.ts';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const isId = (text: string): boolean => uuid.test(text);

type Named = { id: string; name: string };

/** Returns the id. Rejects with a Failure: 3 if no record has the name, 1 if several have. */
async function find(kind: string, text: string, candidates: AsyncIterable<Named>): Promise<string> {
  const wanted = text.toLowerCase();
  const found: Named[] = [];
  for await (const one of candidates) if (one.name.toLowerCase() === wanted) found.push(one);
  const [first, ...others] = found;
  if (!first) throw new Failure(3, `there is no ${kind} "${text}". Nothing was changed.`);
  if (others.length > 0)
    throw new Failure(
      1,
      `${found.length} records are named "${text}". Nothing was changed. Use the id: ${found.map(({ id }) => id).join(', ')}.`,
    );
  return first.id;
}

/** Returns the id of a user, by email or id. Throws a UsageError for an empty text, which the API takes for no filter. */
export async function userId({ client }: Api, text: string): Promise<string> {
  if (text.trim() === '')
    throw new UsageError('the email or the id of the user is empty. Nothing was changed.');
  if (isId(text)) return text.toLowerCase();
  const { data } = await client.get('/api/v1/users', { query: { email: text, size: 1 } });
  const [user] = data.items;
  if (!user) throw new Failure(3, `there is no user "${text}". Nothing was changed.`);
  return user.id;
}

export const roleId = async ({ client }: Api, text: string): Promise<string> =>
  isId(text)
    ? text.toLowerCase()
    : find('role', text, client.items('/api/v1/roles', { query: { name_pattern: text, size: 100 } }));

export const serviceAccountId = async ({ client }: Api, text: string): Promise<string> =>
  isId(text)
    ? text.toLowerCase()
    : find(
        'service account',
        text,
        client.items('/api/v1/service-accounts', { query: { search: text, size: 100 } }),
      );

export const applicationId = async ({ client }: Api, text: string): Promise<string> =>
  isId(text)
    ? text.toLowerCase()
    : find('application', text, client.items('/api/v1/applications', { query: { search: text, size: 100 } }));

export const webhookId = async ({ client }: Api, text: string): Promise<string> =>
  isId(text)
    ? text.toLowerCase()
    : find('webhook', text, client.items('/api/v1/webhooks', { query: { size: 100 } }));

/** Returns the id of an API resource, by name, identifier or id. */
export const apiResourceId = async ({ client }: Api, text: string): Promise<string> => {
  if (isId(text)) return text.toLowerCase();
  const found = client.items('/api/v1/api-resources', { query: { search: text, size: 100 } });
  return find('API resource', text, namedAs(found, text));
};

/** Returns the id of an identity provider, by slug or id. */
export const identityProviderId = async ({ client }: Api, text: string): Promise<string> => {
  if (isId(text)) return text.toLowerCase();
  const found = client.items('/api/v1/identity-providers', { query: { size: 100 } });
  return find('identity provider', text, bySlug(found));
};

/** Returns the id of a user attribute, by name or id. */
export const userAttributeId = async ({ client }: Api, text: string): Promise<string> =>
  isId(text)
    ? text.toLowerCase()
    : find('user attribute', text, client.items('/api/v1/user-attributes', { query: { size: 100 } }));

async function* bySlug(records: AsyncIterable<{ id: string; slug: string }>) {
  for await (const { id, slug } of records) yield { id, name: slug };
}

/** Yields the records; one whose identifier is the text has it as its name. */
async function* namedAs(records: AsyncIterable<Named & { identifier: string }>, text: string) {
  for await (const { id, name, identifier } of records)
    yield { id, name: identifier === text ? identifier : name };
}

export const permissionGroupId = async ({ client }: Api, text: string): Promise<string> =>
  isId(text)
    ? text.toLowerCase()
    : find(
        'permission group',
        text,
        nested(client.items('/api/v1/permission-groups', { query: { size: 100 } }), ({ groups }) => groups),
      );

export const roleGroupId = async ({ client }: Api, text: string): Promise<string> =>
  isId(text)
    ? text.toLowerCase()
    : find(
        'role group',
        text,
        nested(client.items('/api/v1/role-groups', { query: { size: 100 } }), ({ children }) => children),
      );

/** Yields each group, then those below it. A group may be listed both by itself and below its parent. */
async function* nested<T extends Named>(groups: AsyncIterable<T>, below: (group: T) => readonly T[]) {
  const seen = new Set<string>();
  function* walk(group: T): Generator<T> {
    if (seen.has(group.id)) return;
    seen.add(group.id);
    yield group;
    for (const one of below(group)) yield* walk(one);
  }
  for await (const group of groups) yield* walk(group);
}

/** Returns the ids of permissions, reading the list at most once. */
export async function permissionIds({ client }: Api, texts: readonly string[]): Promise<string[]> {
  if (texts.every(isId)) return texts.map((text) => text.toLowerCase());
  const ids = new Map<string, string>();
  for await (const { id, name } of client.items('/api/v1/permissions', { query: { size: 100 } }))
    ids.set(name.toLowerCase(), id);
  return texts.map((text) => {
    const id = isId(text) ? text.toLowerCase() : ids.get(text.toLowerCase());
    if (id === undefined) throw new Failure(3, `there is no permission "${text}". Nothing was changed.`);
    return id;
  });
}

export const permissionId = async (api: Api, text: string): Promise<string> =>
  (await permissionIds(api, [text]))[0] as string;

export const roleIds = (api: Api, texts: readonly string[]): Promise<string[]> =>
  Promise.all(texts.map((text) => roleId(api, text)));
