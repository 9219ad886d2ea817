// Tells somebody about each statement on the connections of a pool: when it is sent, and when its answer has come.
// It must not change a statement or its answer, nor pass on a value.
import type { PoolClient } from 'pg';
import { isObject } from '../unknown-values.ts';
import { type SentStatement, statementLabel } from './statement-labels.ts';
import { TextQuery } from './text-rows.ts';

/** Called when a statement is sent; the returned function when it has ended, with its error if it failed. */
export type StatementWatch = (label: string) => (error?: unknown) => void;

type Send = (...given: unknown[]) => unknown;

/** Watches every later statement of the connection, sent by the pool or by the code that has taken the connection. */
export function watchStatements(client: PoolClient, watch: StatementWatch): void {
  const send = client.query.bind(client) as Send;
  const watched: Send = (...given) => {
    const [statement] = given;
    if (!isStatement(statement)) return send(...given);
    const end = watch(statementLabel(statement));
    const last = given.at(-1);
    if (isCallback(last))
      return send(...given.slice(0, -1), (error: unknown, result: unknown) => {
        end(error ?? undefined);
        last(error, result);
      });
    const answer = send(...given);
    if (answer instanceof Promise) answer.then(() => end(), end);
    else end();
    return answer;
  };
  client.query = watched as typeof client.query;
}

const isStatement = (given: unknown): given is SentStatement =>
  typeof given === 'string' ||
  given instanceof TextQuery ||
  (isObject(given) && typeof given.text === 'string' && !('submit' in given));

const isCallback = (given: unknown): given is (error: unknown, result: unknown) => void =>
  typeof given === 'function';
