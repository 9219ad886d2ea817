// Explains the statements that a request sends, with the rows that each step of their plans really reads.
import assert from 'node:assert/strict';
import type { TestService } from './harness.ts';
import { sentDuring } from './statements.ts';

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

/** Returns the SELECT statements that the request sends to the database, explained afterwards, but not the hot ones of each request. */
export async function plansOf(
  service: TestService,
  request: () => Promise<{ status: number }>,
): Promise<Explained[]> {
  const sent = await sentDuring(async () => assert.equal((await request()).status, 200));
  const explained: Explained[] = [];
  for (const { text, values } of sent) {
    if (!/^\s*(\/\*.*?\*\/\s*)?(select|with)\b/i.test(text)) continue;
    if (values === undefined && text.includes('$1')) continue;
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
