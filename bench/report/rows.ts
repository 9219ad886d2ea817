// The rows of the table that `npm run bench` prints: what was measured, its goal, and how it grows with the users.
// It must not measure.
import { format, markdown, median, percentile, summary } from './table.ts';

/** The figure of a row that a goal is about. `ratio` is `of`, `growth` the factor for ten times the users. */
type Figure = 'median' | 'p95' | 'most' | 'ratio' | 'cpu' | 'growth';

export type Goal = { figure: Figure; most?: number; least?: number };

export type Row = {
  part: string;
  name: string;
  /** What holds for this row besides the conditions of the whole run. */
  condition: string;
  unit: 'ms' | '/s' | 'MiB' | '×' | 'statements';
  /** One per round, or one per request where the requests take turns. */
  values: number[];
  /** Its median divided by that of its denominator in the same run. */
  of?: { what: string; ratio: number };
  /** Processor time of service and database for one request, in microseconds; without the database if it is not ours. */
  cpu?: number;
  /** The users of the database, for rows that are measured with several numbers of them. */
  users?: number;
  goals?: Goal[];
  /** Requests that were answered with an error. `values` has none of them. */
  failed?: number;
};

type Held = { text: string; isMissed: boolean };

const names: Record<Figure, string> = {
  median: 'median',
  p95: 'p95',
  most: 'slowest',
  ratio: 'of denominator',
  cpu: 'CPU µs',
  growth: 'per decade',
};

/** Returns the factor by which a figure grows for ten times the users; undefined without figures of a smaller size. */
function growthOf(row: Row, rows: readonly Row[], figureOf: (one: Row) => number | undefined) {
  const smaller = rows
    .filter((one) => one.part === row.part && one.name === row.name && (one.users ?? 0) < (row.users ?? 0))
    .toSorted((a, b) => (b.users ?? 0) - (a.users ?? 0))[0];
  const [now, before] = [figureOf(row), smaller && figureOf(smaller)];
  if (now === undefined || before === undefined || !smaller?.users || !row.users) return undefined;
  const factor = (now / before) ** (1 / Math.log10(row.users / smaller.users));
  return Number.isNaN(factor) ? undefined : factor;
}

function figureOf(row: Row, figure: Figure, rows: readonly Row[]): number | undefined {
  if (figure === 'median') return median(row.values);
  if (figure === 'p95') return percentile(row.values, 0.95);
  if (figure === 'most') return Math.max(...row.values);
  if (figure === 'ratio') return row.of?.ratio;
  if (figure === 'cpu') return row.cpu;
  // Processor time is stable on a machine that others use too, and time is not.
  return growthOf(row, rows, ({ cpu, values }) => cpu ?? median(values));
}

/** Returns each goal of a row with its figure. A goal about growth needs a smaller size, and is left out without one. A failed request misses. */
function heldGoals(row: Row, rows: readonly Row[]): Held[] {
  const failures = row.failed ? [{ text: `**missed** failed requests: ${row.failed}`, isMissed: true }] : [];
  const held = (row.goals ?? []).flatMap(({ figure, most, least }): Held[] => {
    const value = figureOf(row, figure, rows);
    if (value === undefined) return [];
    const isMissed = !(value <= (most ?? Infinity) && value >= (least ?? -Infinity));
    const limit = most === undefined ? `≥ ${format(least ?? 0)}` : `≤ ${format(most)}`;
    const text = `${names[figure]} ${limit}: ${format(value)}`;
    return [{ text: isMissed ? `**missed** ${text}` : text, isMissed }];
  });
  return [...failures, ...held];
}

/** Returns how many goals the rows have, and how many are missed. */
export function countGoals(rows: readonly Row[]): { goals: number; missed: number } {
  const held = rows.flatMap((row) => heldGoals(row, rows));
  return { goals: held.length, missed: held.filter(({ isMissed }) => isMissed).length };
}

/** Returns the median of a row with its spread; nothing where no request was answered. */
function measuredOf({ values, unit }: Row): string {
  if (values.length === 0) return '';
  return `${values.length === 1 ? format(median(values)) : summary(values)} ${unit}`;
}

/** Returns the table of all rows, in their order; sizes of one row follow each other. */
export function tableOfRows(rows: readonly Row[]): string {
  const keyOf = ({ part, name }: Row): string => `${part}\n${name}`;
  const ordered = [...Map.groupBy(rows, keyOf).values()].flatMap((same) =>
    same.toSorted((a, b) => (a.users ?? 0) - (b.users ?? 0)),
  );
  return markdown(
    [
      'Row',
      'Condition',
      'Goal: measured',
      'Median (lowest–highest)',
      'Of',
      'CPU, µs',
      'Per decade: time, CPU',
    ],
    ordered.map((row) => {
      const time = growthOf(row, rows, ({ values }) => median(values));
      const cpu = growthOf(row, rows, (one) => one.cpu);
      return [
        `${row.part}: ${row.name}`,
        row.condition,
        heldGoals(row, rows)
          .map(({ text }) => text)
          .join('; '),
        measuredOf(row),
        row.of ? `${format(row.of.ratio)} of ${row.of.what}` : '',
        row.cpu === undefined ? '' : format(row.cpu),
        [time, cpu].flatMap((one) => (one === undefined ? [] : [`×${format(one)}`])).join(', '),
      ];
    }),
  );
}
