// Says what a failed call means: what happened, what was not done, how to go on, and the exit code.
import type { CastellanError } from '@castellan/sdk';
import { Failure } from '../command.ts';

/** `castellan help` and docs/operate/command-line.md list these. */
export function exitCodeOf({ status, code }: Pick<CastellanError, 'status' | 'code'>): number {
  if (status === 404) return 3;
  if (status === 401 || status === 403) return 4;
  return status === 0 || code === 'malformed_response' || status >= 500 ? 5 : 1;
}

/** Returns the message and the exit code. */
export function failureOf(error: CastellanError, url: string): Failure {
  const { message, code, requestId, fields, reasons } = error;
  const reference = requestId === null ? `(${code})` : `(${code}, request ${requestId})`;
  return new Failure(
    exitCodeOf(error),
    [
      `${message} ${reference}`,
      ...fields.map(({ field, message }) => `  - ${field}: ${message}`),
      ...reasons.map((reason) => `  - ${reason}`),
      adviceOn(error, url),
    ]
      .filter((line) => line !== '')
      .join('\n'),
  );
}

function adviceOn({ status, code, body, retryAfterMs }: CastellanError, url: string): string {
  if (code === 'timeout' || code === 'network_error')
    return `${url} gave no answer. A change may have been made: look before you repeat it. \`castellan doctor\` looks for the reason on the machine of the service.`;
  if (code === 'malformed_response') return `Check that ${url} is the URL of Castellan, with its path.`;
  if (status === 401) return 'Nothing was changed. Log in with a live API key: `castellan login`.';
  if (status === 403 && typeof body?.required_permission === 'string')
    return `Nothing was changed. The service account of the API key needs the permission ${body.required_permission}.`;
  if (status === 412)
    return 'Nothing was changed. Somebody else has changed the record: read it again, then repeat the command.';
  if (status >= 500) return `A change may have been made: look before you repeat it.${waitFor(retryAfterMs)}`;
  return status >= 400 ? `Nothing was changed.${waitFor(retryAfterMs)}` : '';
}

const waitFor = (ms: number | null): string =>
  ms === null ? '' : ` The service asks to wait for ${Math.ceil(ms / 1_000)} s.`;
