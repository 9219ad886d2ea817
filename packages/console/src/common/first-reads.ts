// Reads that begin before the app has loaded. The first caller that asks for the same gets the answer that is under way.
// It must not keep anything: an answer is taken once, soon, and by the person who was signed in when it was asked for.
import type { Answer, BrowserClient, InputOf, Operation, ResultOf } from '@castellan/sdk';
import { client } from './client.ts';

/** An answer that nobody has taken by then is dropped: what is asked for later must be read anew. */
const MAX_AGE_MS = 10_000;

type ReadOperation = Extract<Operation, `GET ${string}`>;
type Input = { path?: unknown; query?: unknown };

const begun = new Map<string, { answer: Promise<unknown>; at: number }>();

const keyOf = (operation: string, { path, query }: Input): string =>
  JSON.stringify([operation, ...[path, query].map((one) => Object.entries(one ?? {}).toSorted())]);

/** Sends a request and returns its answer, which `takeFirst` returns again. */
export function readFirst<O extends ReadOperation>(
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
