// Reads and writes of the API, with the types of the SDK. Every page goes through these functions.
import { versionIn } from '@castellan/contract/etags';
import type {
  Answer,
  InputOf,
  Operation,
  PreviewInputOf,
  PreviewOf,
  PreviewOperation,
  ResultOf,
} from '@castellan/sdk';
import {
  keepPreviousData,
  QueryClient,
  type QueryFunctionContext,
  type QueryKey,
  type UseQueryOptions,
  useMutation,
} from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../common/client.ts';
import { forgetFirst, takeFirst } from './early-reads.ts';
import { isCode } from './errors.ts';
import { acrossStepUps, type Repeatable, wasDeclined } from './second-factors/step-up.ts';
import { acrossSessions } from './session-loss.ts';

type ReadOperation = Extract<Operation, `GET ${string}`>;

/** A record that was read a moment ago is shown again without asking; it is asked for again when the page returns. */
const FRESH_MS = 5_000;

export const queryClient = new QueryClient({
  defaultOptions: {
    // The client repeats what may be repeated.
    queries: { retry: false, staleTime: FRESH_MS, refetchOnWindowFocus: true, networkMode: 'always' },
    // Passwords, codes and keys that were sent or answered go a moment after what shows them (milliseconds).
    mutations: { retry: false, networkMode: 'always', gcTime: 1_000 },
  },
});

/**
 * A response and the ETag of the record; null without one. ETags of one version are equal, however proxies have altered
 * those of some responses.
 */
export type Versioned<T> = { result: T; etag: string | null };

/** Sends one request. Rejects with a `CastellanError`. */
export async function call<O extends Operation>(operation: O, input: InputOf<O>): Promise<ResultOf<O>> {
  return (await callVersioned(operation, input)).result;
}

/** Sends one request and returns the ETag, too, for a later `if-match`. */
export async function callVersioned<O extends Operation>(
  operation: O,
  input: InputOf<O>,
): Promise<Versioned<ResultOf<O>>> {
  const { result, headers } = await answerOf(operation, input);
  const version = versionIn(headers.get('etag'));
  return { result, etag: version === null ? null : `"${version}"` };
}

function answerOf<O extends Operation>(operation: O, input: InputOf<O>): Promise<Answer<ResultOf<O>>> {
  return waitingFor(operation, () => takeFirst(operation, input) ?? client.request(operation, input), input);
}

/** Returns what a change would do. */
export async function callPreview<O extends PreviewOperation>(
  operation: O,
  input: PreviewInputOf<O>,
): Promise<PreviewOf<O>> {
  const { signal } = input;
  return (await waitingFor(operation, () => client.request(operation, input), { signal, isRead: true }))
    .result;
}

/** Sends a request again after what it has to wait for: another sign-in, a fresh proof. */
function waitingFor<T>(operation: string, request: () => Promise<T>, how: Repeatable = {}): Promise<T> {
  if (!operation.startsWith('GET ')) forgetFirst();
  return acrossStepUps(operation, () => acrossSessions(request, how.signal), how);
}

/** Like `call`, for an operation that answers with new tokens of the session: goes on with them and returns the rest. */
export const renew: typeof client.auth.renew = (operation, input) =>
  waitingFor(operation, () => client.auth.renew(operation, input), input);

/** The lists that each query has read, by input. Gone with the query, so no other person's are ever shown. */
const readLists = new WeakMap<object, Map<string, { result: unknown; etag: string }>>();

/** Like `call`, for the function of a query. A list that has not changed since the query last read it is not sent again. */
export async function callInQuery<O extends ReadOperation>(
  { client: queries, queryKey, signal }: QueryFunctionContext,
  operation: O,
  input: InputOf<O>,
): Promise<ResultOf<O>> {
  const query = queries.getQueryCache().find({ queryKey });
  const lists = (query && readLists.get(query)) ?? new Map<string, { result: unknown; etag: string }>();
  if (query) readLists.set(query, lists);
  const key = JSON.stringify([operation, input]);
  const last = lists.get(key);
  const headers = { ...input.headers, ...(last ? { 'if-none-match': last.etag } : {}) };
  try {
    const { result, headers: answered } = await answerOf(operation, { ...input, headers, signal });
    const etag = answered.get('etag');
    // Those of records have a version, and are for `if-match`.
    if (etag !== null && versionIn(etag) === null) lists.set(key, { result, etag });
    return result;
  } catch (error) {
    // The input is the same, and with it the type.
    if (last && isCode(error, 'not_modified')) return last.result as ResultOf<O>;
    throw error;
  }
}

/** The options of a query that reads one operation. Rows of the page before stay while the next page loads. */
export function reading<O extends ReadOperation>(
  operation: O,
  input: InputOf<O>,
): UseQueryOptions<ResultOf<O>, Error, ResultOf<O>, QueryKey> {
  return {
    queryKey: [operation, input],
    queryFn: (context) => callInQuery(context, operation, input),
  };
}

/** What a part of a page needs of a query to tell that it failed, and to try again. */
export type ReadState = { error: unknown; refetch: () => unknown };

/** Like `reading`, with the ETag. */
export function readingVersioned<O extends ReadOperation>(
  operation: O,
  input: InputOf<O>,
): UseQueryOptions<Versioned<ResultOf<O>>, Error, Versioned<ResultOf<O>>, QueryKey> {
  return {
    queryKey: [operation, input, 'versioned'],
    queryFn: ({ signal }) => callVersioned(operation, { ...input, signal }),
  };
}

/** Keeps the rows on screen while others load: `useQuery({ ...reading(…), ...keepingRows })`. */
export const keepingRows = { placeholderData: keepPreviousData };

/** Returns the last data while a request for other rows has failed: `keepingRows` keeps them only while it runs. */
export function useKeptRows<T>({ data, error }: { data: T | undefined; error: unknown }): T | undefined {
  const [last, setLast] = useState(data);
  if (data !== undefined && data !== last) setLast(data);
  return data ?? (error ? last : undefined);
}

/** Everything on screen is read again: a change of access may show anywhere. */
export const readAgain = (): Promise<void> => queryClient.invalidateQueries();

/** A write: `run(input)`, `isPending`, `error`. Afterwards everything on screen is read again, also after a failure. */
export function useWrite<I, R>(write: (input: I) => Promise<R>, onDone?: (result: R, input: I) => void) {
  const mutation = useMutation({
    mutationFn: write,
    onSuccess: (result, input) => onDone?.(result, input),
    onSettled: () => void readAgain(),
  });
  return {
    run: mutation.mutate,
    isPending: mutation.isPending,
    error: wasDeclined(mutation.error) ? null : mutation.error,
    reset: mutation.reset,
  };
}
