// What is read before the app has loaded: the record of the signed-in person, and the first page of the list of users.
// The parts of the app that ask first for the same get the answer that is under way.
// It must not keep anything: an answer is taken once, soon, and by the person who was signed in when it was asked for.
import type { Answer, BrowserClient, InputOf, Operation, ResultOf } from '@castellan/sdk';
import { client } from '../../common/client.ts';
import { readPreference, rememberFor, writePreference } from '../../common/preferences.ts';
import { preferredSize } from '../page-size.ts';
import { requirementOf } from './requirement.ts';

/** An answer that nobody has taken by then is dropped: what is asked for later must be read anew. */
const MAX_AGE_MS = 10_000;

type ReadOperation = Extract<Operation, `GET ${string}`>;
type Input = { path?: unknown; query?: unknown };

const begun = new Map<string, { answer: Promise<unknown>; at: number }>();

const keyOf = (operation: string, { path, query }: Input): string =>
  JSON.stringify([operation, ...[path, query].map((one) => Object.entries(one ?? {}).toSorted())]);

/** Sends a request and returns its answer, which `takeFirst` returns again. */
function readFirst<O extends ReadOperation>(
  operation: O,
  input: InputOf<O> & Input,
): Promise<Answer<ResultOf<O>>> {
  const answer = client.request<O>(operation, input);
  // The caller that takes it sees the failure.
  answer.catch(() => {});
  begun.set(keyOf(operation, input), { answer, at: performance.now() });
  return answer;
}

/** Returns the answer to the same request if it has begun, and undefined from then on. */
export function takeFirst<O extends Operation>(
  operation: O,
  input: InputOf<O> & Input,
): Promise<Answer<ResultOf<O>>> | undefined {
  const key = keyOf(operation, input);
  const found = begun.get(key);
  begun.delete(key);
  if (!found || performance.now() - found.at > MAX_AGE_MS) return undefined;
  // The key names the operation, and with it the type.
  return found.answer as Promise<Answer<ResultOf<O>>>;
}

/** Call it before a change: what was read before it must not show after it. */
export const forgetFirst = (): void => begun.clear();

// Another person, or nobody: nothing that was read before may show.
client.auth.subscribe(forgetFirst);

const get = async (path: string, input: Input = {}): Promise<unknown> => {
  const operation = `GET ${path}` as Operation;
  return (
    await (takeFirst(operation, input as InputOf<Operation>) ?? client.request(operation, input as never))
  ).result;
};

/** The client of the page, whose `get` takes what has begun. */
export const clientOfApp: BrowserClient = { ...client, get: get as BrowserClient['get'] };

/** Of the permissions, only those that decide what the app shows. */
export const OWN_PERMISSIONS = 'builtin';

/** How the app asks for the record of the signed-in person. */
const ownRecord = { query: { permissions: OWN_PERMISSIONS } } as const;

const PREFERENCE = 'firstList';
const paths = ['/api/v1/users', '/api/v1/users/list'] as const;
type ListPath = (typeof paths)[number];

/** The path of the list of users that this person may read. */
export const listPathOf = (can: (permission: string) => boolean): ListPath =>
  can('user.read') ? '/api/v1/users' : '/api/v1/users/list';

/** Returns undefined if the person may read neither list: asking would cause a refusal in the audit log. */
export const readableListPath = (can: (permission: string) => boolean): ListPath | undefined =>
  can('user.read') || can('users.read') ? listPathOf(can) : undefined;

/** Stores what the person may read, for the next time. */
export const rememberUserList = (can: (permission: string) => boolean): void =>
  writePreference(PREFERENCE, readableListPath(can) ?? null);

/** Returns the path of the list that the person could read the last time; undefined for none. */
const knownListPath = (): ListPath | undefined => paths.find((one) => one === readPreference(PREFERENCE));

/** What lists of users show besides the records. */
export const withExtras = { include: ['activity' as const, 'second_factor' as const] };

/** The page of users without anything in the address. */
export const firstUsers = () => ({ page: 1, size: preferredSize(), sort: '-created_at' as const });

/** What the page of users asks for without anything in its address. */
export const firstList = () => ({ query: { ...firstUsers(), ...withExtras } });

const readList = (list: ListPath | undefined): void => {
  if (list) void readFirst(`GET ${list}`, firstList());
};

/** Sends what the app asks for once this person is signed in. `isFirstList`: whether it opens with the list of users. */
export function readFor(subject: string, isFirstList: boolean): void {
  const own = readFirst('GET /api/v1/users/me', ownRecord);
  rememberFor(subject);
  if (!isFirstList) return;
  const known = knownListPath();
  if (known) readList(known);
  // In a browser that does not know yet, the record says it, long before the app runs.
  else
    own
      .then(({ result: { data } }) => {
        if (!requirementOf(data))
          readList(readableListPath((permission) => data.permissions.includes(permission)));
      })
      .catch(() => {});
}
