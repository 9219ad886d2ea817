// Reads the variables of OpenTelemetry that choose which traces are kept.
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/

export const samplers = [
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
  'always_on',
  'always_off',
  'traceidratio',
] as const;

export type SamplerName = (typeof samplers)[number];

export type TracingSettings = {
  /** The address of the collector, to which /v1/traces is added. */
  endpoint: string;
  headers: Readonly<Record<string, string>>;
  serviceName: string;
  sampler: SamplerName;
  /** The share of the traces that a `traceidratio` keeps, 0 to 1. */
  ratio: number;
};

/** Reads `name=value,name=value`; values may be percent-encoded. The error repeats none, because they are secrets. */
export function parseHeaders(text: string): Record<string, string> {
  const pairs = text
    .split(',')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '')
    .map((pair) => /^([!#$%&'*+.^_`|~\w-]+)\s*=\s*(.*)$/.exec(pair));
  try {
    return Object.fromEntries(pairs.map((pair) => [pair?.[1]?.toLowerCase(), headerValue(pair?.[2])]));
  } catch {
    throw new Error(
      'is not a list of headers; write name=value, comma-separated, with percent-encoded values',
    );
  }
}

function headerValue(text: string | undefined): string {
  const value = decodeURIComponent(text ?? '%');
  if (!/^[\t\x20-\x7e]*$/.test(value)) throw new Error('not a header');
  return value;
}
