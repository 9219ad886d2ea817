// Sends changes, or with --dry-run shows them: the request that would be sent, and what the service says it would do.
import { versionIn } from '@castellan/contract/etags';
import type {
  AccessPreview,
  Answer,
  ApplicationImpact,
  InputOf,
  Operation,
  ProviderImpact,
  ResultOf,
} from '@castellan/sdk';
import { type Call, Failure, type Option, UsageError, yes } from '../command.ts';
import { confirm } from '../input/confirmation.ts';
import type { Api } from './connection.ts';
import { jsonText, printable } from './text.ts';

export const dryRun: Option = {
  flags: '--dry-run',
  help: 'Show the request that would be sent, what it removes, and its effect where the service can tell. Nothing changes.',
};
export const changeOptions: readonly Option[] = [dryRun];
export const destructiveOptions: readonly Option[] = [dryRun, yes];
export const versionOption: Option = {
  flags: '--if-version <number>',
  help: 'Refuse the change unless the record has this version: the number in its ETag, which `get` shows.',
};
export const retryOption: Option = {
  flags: '--idempotency-key <key>',
  help: 'Repeat an earlier command with its key, and it creates no second record.',
};

type Input = {
  path?: object | undefined;
  query?: object | undefined;
  body?: unknown;
  headers?: Readonly<Record<string, string>> | undefined;
};

type ChangeOptions = {
  /** The operation has previews (`dry_run`). */
  preview?: boolean;
  /** Shown before anything is sent, and by a dry run. Asks for confirmation, unless it is empty. */
  consequences?: readonly string[];
};

/** The client, for an operation that only the caller of a generic function knows. */
export const untyped = ({ client }: Api) =>
  client.request as (operation: string, input: Input) => Promise<Answer>;

/**
 * Sends the change and returns the answer. With --dry-run, shows the change and returns null; rejects with a Failure if
 * the service would refuse it.
 */
export const change = <O extends Operation>(
  api: Api,
  operation: O,
  input: InputOf<O>,
  options?: ChangeOptions,
) => changeUntyped(api, operation, input, options) as Promise<Answer<ResultOf<O>> | null>;

/** Like `change`, for an operation that only the caller of a generic function knows. */
export async function changeUntyped(
  api: Api,
  operation: string,
  input: Input,
  { preview = false, consequences = [] }: ChangeOptions = {},
): Promise<Answer | null> {
  if (isDryRun(api)) {
    await showChange(api, operation, input, { preview, consequences });
    return null;
  }
  if (consequences.length > 0) await confirm(api.call, consequences.map(printable));
  return untyped(api)(operation, input);
}

export const isDryRun = ({ call }: Pick<Api, 'call'>): boolean => call.values['dry-run'] === true;

async function showChange(
  api: Api,
  operation: string,
  input: Input,
  { preview: hasPreview, consequences }: Required<ChangeOptions>,
): Promise<void> {
  const { call } = api;
  const request = requestOf(operation, input);
  const { dry_run: preview } = hasPreview
    ? { dry_run: await previewOf(api, operation, input) }
    : { dry_run: null };
  if (call.values.json === true)
    call.print(
      jsonText({ dry_run: true, request, consequences, preview }, call.values.from === undefined ? 2 : 0),
    );
  else
    call.print(
      [...requestLines(request), ...consequences.map(printable), ...previewLines(preview)].join('\n'),
    );
  if (preview?.would_be_refused)
    throw new Failure(
      1,
      `the change would be refused: ${preview.would_be_refused.detail} (${preview.would_be_refused.code})`,
    );
}

/** The effect of a requirement: whom it concerns, and who lacks a factor for it. */
type AuthenticationImpact = {
  holders: number;
  without_factor: number;
  subjects: { name: string }[];
  more: number;
};
type Preview = Omit<AccessPreview, 'impact'> & {
  impact: AccessPreview['impact'] | AuthenticationImpact | ApplicationImpact | ProviderImpact;
};

async function previewOf(api: Api, operation: string, input: Input): Promise<Preview> {
  const { result } = await untyped(api)(operation, { ...input, query: { ...input.query, dry_run: true } });
  return (result as { data: Preview }).data;
}

type Shown = { method: string; path: string; query?: object; body?: unknown };

/** Leaves out passwords and secrets. */
function requestOf(operation: string, { path = {}, query, body }: Input): Shown {
  const [method = '', template = ''] = operation.split(' ');
  const filled = Object.entries(path).reduce(
    (text, [name, value]) => text.replace(`{${name}}`, value),
    template,
  );
  return {
    method,
    path: filled,
    ...(query === undefined ? {} : { query }),
    ...(body === undefined ? {} : { body: withoutSecrets(body) }),
  };
}

const secretNames = ['password', 'client_secret', 'private_key'];
const withoutSecrets = (body: unknown): unknown =>
  JSON.parse(JSON.stringify(body, (name, value) => (secretNames.includes(name) ? '(not shown)' : value)));

function requestLines({ method, path, query, body }: Shown): string[] {
  return [
    'Nothing was changed. This request would be sent:',
    `  ${method} ${path}${query === undefined ? '' : ` ${jsonText(query)}`}`,
    ...(body === undefined ? [] : [`  ${jsonText(body)}`]),
  ];
}

function previewLines(preview: Preview | null): string[] {
  if (!preview?.impact) return [];
  if ('holders' in preview.impact) return requirementLines(preview.impact);
  if ('grants' in preview.impact) return applicationLines(preview.impact);
  if ('identities' in preview.impact) return providerLines(preview.impact);
  const { gaining, losing, gained, lost, subjects, more } = preview.impact;
  const counts = (label: string, all: typeof gained) =>
    all.map(({ permission, subjects }) => `  ${label} ${printable(permission)}: ${subjects}`);
  return [
    `It would give permissions to ${gaining} and take permissions from ${losing} active users and service accounts.`,
    ...counts('gain', gained),
    ...counts('lose', lost),
    ...subjects.map(
      ({ name, gained, lost }) =>
        `  ${printable(name)}: ${[...gained.map((one) => `+${one}`), ...lost.map((one) => `-${one}`)].map(printable).join(' ')}`,
    ),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

const requirementLines = ({ holders, without_factor, subjects, more }: AuthenticationImpact): string[] => [
  `It concerns ${holders} active users; ${without_factor} of them have no factor that is enough.`,
  ...subjects.map(({ name }) => `  ${printable(name)}`),
  ...(more > 0 ? [`  and ${more} more`] : []),
];

const applicationLines = ({ grants, users, sessions }: ApplicationImpact): string[] => [
  `It would end the access of ${users} people: ${grants} authorizations, of ${sessions} sessions.`,
];

const providerLines = ({ identities, sessions, left_without }: ProviderImpact): string[] => [
  `It concerns ${identities} connected accounts with ${sessions} live sessions. ${left_without} people would have no other way to sign in.`,
];

/** Prints what was done, or the answer of the API. Prints nothing for a dry run, which has been shown. */
export function report(api: Api, answer: Answer | null, sentence: string): void {
  if (answer)
    api.call.print(api.call.values.json === true ? jsonText(answer.result, 2) : printable(sentence));
}

/** Returns the header for --if-version, if it is given. */
export function ifVersion({ values }: Call): { headers?: Record<string, string> } {
  const version = values['if-version'];
  if (version === undefined) return {};
  if (!/^\d{1,10}$/.test(String(version))) throw new UsageError('--if-version must be a number.');
  return { headers: { 'if-match': `"${version}"` } };
}

/** Returns the option of a creation for --idempotency-key, if it is given. */
export const idempotency = ({ values }: Call): { idempotencyKey?: string } =>
  typeof values['idempotency-key'] === 'string' ? { idempotencyKey: values['idempotency-key'] } : {};

/** Returns the version of a record for people; null if the answer has none. */
export const versionOf = ({ headers }: Answer): number | null => versionIn(headers.get('etag'));
