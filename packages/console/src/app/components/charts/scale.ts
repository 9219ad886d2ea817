// Numbers of a chart: where its points lie and where its axis ends.

const steps = [1, 2, 3, 4, 5, 6, 8, 10];

/** Returns the smallest round number, such as 8, 30 or 400, that is not below the number, and at least 4. */
export function niceMax(value: number): number {
  const least = 4;
  if (value <= least) return least;
  const base = 10 ** Math.floor(Math.log10(value));
  return steps.map((step) => step * base).find((step) => step >= value) ?? value;
}

export type Box = { width: number; height: number; max: number };

/** Returns the points of a line from the left edge to the right edge, `0` at the bottom. */
export function pointsOf(values: readonly number[], { width, height, max }: Box): [x: number, y: number][] {
  const gaps = Math.max(1, values.length - 1);
  return values.map((value, index) => [(index / gaps) * width, height - (value / max) * height]);
}

export const lineOf = (points: readonly [number, number][]): string =>
  points.map(([x, y], index) => `${index === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join(' ');

/** Returns the area below a line. */
export function areaOf(points: readonly [number, number][], height: number): string {
  const [first, last] = [points[0], points.at(-1)];
  return first && last
    ? `${lineOf(points)} L${last[0].toFixed(1)} ${height} L${first[0].toFixed(1)} ${height} Z`
    : '';
}

/** Returns a path without a length: its rounded or square ends are a mark of the same shape in a stretched drawing. */
export const markOf = (point: readonly [number, number] | undefined): string =>
  point ? `M${point[0].toFixed(1)} ${point[1].toFixed(1)}h0` : '';
