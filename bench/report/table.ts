// Medians and Markdown tables. It must not measure.

/** Returns the median; NaN for an empty list. */
export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2;
}

/** Returns the percentile by nearest rank; `part` is from 0 to 1. NaN for an empty list. */
export const percentile = (values: number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(part * values.length) - 1)] ?? Number.NaN;

const spread = (values: number[]): string => `${format(Math.min(...values))}–${format(Math.max(...values))}`;

/** Returns the median, with the lowest and the highest value in parentheses. */
export const summary = (values: number[]): string => `${format(median(values))} (${spread(values)})`;

export const format = (value: number): string =>
  value >= 100
    ? Math.round(value).toLocaleString('en-US')
    : value.toLocaleString('en-US', { maximumFractionDigits: value >= 10 ? 1 : 2 });

export function markdown(head: string[], rows: string[][]): string {
  const line = (cells: string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, index) => (index === 0 ? '---' : '---:'))), ...rows.map(line)].join(
    '\n',
  );
}
