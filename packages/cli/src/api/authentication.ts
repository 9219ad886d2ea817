// What the commands about requirements share: the level and the preview of a change.
import { type Command, type Option, UsageError } from '../command.ts';
import { changeUntyped, destructiveOptions, ifVersion, report, versionOption } from './changes.ts';
import { type Api, apiOptions, overApi } from './connection.ts';

/** `none` stands for null. */
export const acrOption = (choices: readonly string[]): Option => ({
  flags: '--acr <level>',
  help: `What must have been proved: ${choices.map((one) => `${one} (${levels[one]})`).join(', ')}.`,
  choices,
});

const levels: Readonly<Record<string, string>> = {
  aal1: 'any sign-in',
  aal2: 'a second factor',
  phr: 'a passkey or security key',
  none: 'nothing more',
};

type Change = {
  summary: string;
  argument: { name: string; help: string };
  options: readonly Option[];
  details: readonly string[];
  /** `PUT <path>`. */
  operation: string;
  path: (api: Api) => Promise<object>;
  /** Throws a UsageError. */
  body: (api: Api) => object;
  done: string;
};

/** Returns the command that sets a requirement. Asks before it applies, because it may shut people out. */
export const authenticationCommand = ({
  summary,
  argument,
  operation,
  done,
  ...change
}: Change): Command => ({
  summary,
  arguments: [argument],
  options: [...change.options, versionOption, ...destructiveOptions, ...apiOptions],
  details: change.details,
  run: overApi(async (api) => {
    const body = change.body(api);
    const input = { path: await change.path(api), body, ...ifVersion(api.call) };
    const consequences = ['From then on, people who have not proved it are refused.'];
    const isLifted = 'required_acr' in body && body.required_acr === null;
    const answer = await changeUntyped(api, operation, input, {
      preview: true,
      ...(isLifted ? {} : { consequences }),
    });
    report(api, answer, done);
  }),
});

/** Returns the time of `--from` in ISO 8601. Throws a UsageError for text that is no date. */
export function timeOf(text: string): string {
  const ms = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms))
    throw new UsageError('--from must be a date such as 2027-01-31, or a time such as 2027-01-31T08:00:00Z.');
  return new Date(ms).toISOString();
}
