// Explains the statements that a request sends, with the rows that each step of their plans really reads.
import assert from 'node:assert/strict';
import type { PoolClient } from 'pg';
import type { TestService } from './harness.ts';

type Sent = { text: string; values?: unknown[] };

type Plan = {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: Plan[];
};

/** One step of a plan. */
type Step = {
  node: string;
  table: string | undefined;
  index: string | undefined;
  /** Rows that the step returned or left out, in all its runs. */
  rows: number;
};
export type Explained = {
  text: string;
  steps: Step[];
  /** Pages of 8 KiB that the statement read, cached or not. */
  pages: number;
};

/** Returns the SELECT statements that the request sends to the database, explained afterwards. */
export async function plansOf(
  service: TestService,
  request: () => Promise<{ status: number }>,
): Promise<Explained[]> {
  const sent = await sentBy(service, request);
  const explained: Explained[] = [];
  for (const { text, values } of sent) {
    if (!/^\s*(\/\*.*?\*\/\s*)?(select|with)\b/i.test(text)) continue;
    const [row] = await service.sql<{ 'QUERY PLAN': { Plan: Plan }[] }>(
      `explain (analyze, buffers, timing off, format json) ${text}`,
      values ?? [],
    );
    const plan = row?.['QUERY PLAN'][0]?.Plan;
    assert.ok(plan);
    explained.push({
      text,
      steps: stepsOf(plan),
      pages: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'],
    });
  }
  return explained;
}

/** Returns the steps of a plan in `explain (analyze, format json)`, without those that did not run. */
export const stepsOf = (plan: Plan): Step[] =>
  plan['Actual Loops'] === 0
    ? []
    : [
        {
          node: plan['Node Type'],
          table: plan['Relation Name'],
          index: plan['Index Name'],
          rows: (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'],
        },
        ...(plan.Plans ?? []).flatMap(stepsOf),
      ];

async function sentBy({ service }: TestService, request: () => Promise<{ status: number }>): Promise<Sent[]> {
  const { pool } = service.deps;
  const sent: Sent[] = [];
  const watched = new Map<PoolClient, PropertyDescriptor | undefined>();
  const watch = (client: PoolClient): void => {
    if (watched.has(client)) return;
    const send = client.query;
    watched.set(client, Object.getOwnPropertyDescriptor(client, 'query'));
    client.query = ((...args: Parameters<typeof send>) => {
      const [first, values] = args as unknown as [string | Sent, unknown[]?];
      sent.push(typeof first === 'string' ? { text: first, ...(values ? { values } : {}) } : first);
      return send.apply(client, args);
    }) as typeof send;
  };
  pool.on('acquire', watch);
  try {
    assert.equal((await request()).status, 200);
  } finally {
    pool.off('acquire', watch);
    // Without its own property, a client has the method that others may wrap for all clients.
    for (const [client, before] of watched)
      if (before) Object.defineProperty(client, 'query', before);
      else Reflect.deleteProperty(client, 'query');
  }
  return sent;
}
