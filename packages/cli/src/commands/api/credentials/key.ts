// `castellan key …`: the API keys of service accounts. A new key is shown once, or written to a file.
import type { ApiKey } from '@castellan/sdk';
import {
  change,
  destructiveOptions,
  dryRun,
  idempotency,
  report,
  retryOption,
} from '../../../api/changes.ts';
import { type Api, apiOptions, overApi } from '../../../api/connection.ts';
import { serviceAccountId } from '../../../api/names.ts';
import { fileOption, handOver } from '../../../api/new-key.ts';
import { type Column, tableOf } from '../../../api/output.ts';
import { nameArgument } from '../../../api/records.ts';
import { jsonText } from '../../../api/text.ts';
import {
  argumentOf,
  type CommandGroup,
  Failure,
  listOf,
  type Option,
  optionOf,
  UsageError,
} from '../../../command.ts';

const account = nameArgument('service account', 'account');
const key = { name: '<key>', help: 'The id, the prefix or the name of the API key.' };
const accountOf = (api: Api) => serviceAccountId(api, argumentOf(api.call, 'account'));

const columns: readonly Column<ApiKey>[] = [
  ['NAME', ({ name }) => name],
  ['PREFIX', ({ prefix }) => prefix],
  ['STATE', stateOf],
  ['EXPIRES', ({ expires_at }) => expires_at],
  ['LAST USED', ({ last_used_at }) => last_used_at],
  ['NARROWED TO', ({ permissions }) => permissions],
  ['NARROWED BY', ({ narrowed_by }) => narrowed_by],
  ['ID', ({ id }) => id],
];

function stateOf({ revoked_at, expires_at }: ApiKey): string {
  if (revoked_at !== null) return 'revoked';
  return expires_at !== null && Date.parse(expires_at) <= Date.now() ? 'expired' : 'live';
}

const expiryOption: Option = {
  flags: '--expires <time>',
  help: 'When it ends, such as 2027-01-01T00:00:00Z.',
};

/** Finds a key by id, prefix or name. Only live keys are found by name. */
async function keyOf(api: Api, service_account_id: string): Promise<ApiKey> {
  const text = argumentOf(api.call, 'key');
  const { data } = await api.client.get('/api/v1/service-accounts/{service_account_id}/keys', {
    path: { service_account_id },
  });
  const exact = data.find(({ id, prefix }) => id === text.toLowerCase() || prefix === text);
  if (exact) return exact;
  const named = data.filter((one) => one.name === text && stateOf(one) === 'live');
  const [first, ...others] = named;
  if (!first) throw new Failure(3, `there is no API key "${text}". Nothing was changed.`);
  if (others.length > 0)
    throw new Failure(
      1,
      `${named.length} live keys are named "${text}". Nothing was changed. Use the prefix: ${named.map(({ prefix }) => prefix).join(', ')}.`,
    );
  return first;
}

const endsAtOnce = ({ name, prefix }: Pick<ApiKey, 'name' | 'prefix'>): string =>
  `The key ${prefix} (${name}) and its access tokens are refused at once. This cannot be undone.`;

/** Says what happened to the keys that were made with a revoked one. */
function descendantsOf(ended: { descendants: number } | undefined, isWith: boolean): string {
  if (!ended || ended.descendants === 0) return '';
  return isWith
    ? ` So were the keys made with it: ${ended.descendants}.`
    : ` Live keys that were made with it: ${ended.descendants}. End them with --descendants.`;
}

export const declaration: CommandGroup = {
  commands: {
    list: {
      summary: 'List the API keys of a service account.',
      arguments: [account],
      options: apiOptions,
      run: overApi(async (api) => {
        const body = await api.client.get('/api/v1/service-accounts/{service_account_id}/keys', {
          path: { service_account_id: await accountOf(api) },
        });
        if (api.call.values.json === true) api.call.print(jsonText(body, 2));
        else tableOf(api, columns)(body.data);
      }),
    },
    create: {
      summary: 'Create an API key.',
      arguments: [account, { name: '<name>', help: 'A name for the key, such as the machine that uses it.' }],
      options: [
        expiryOption,
        { flags: '--permission <name>', help: 'Narrow the key to this permission. Repeatable.', list: true },
        fileOption,
        retryOption,
        dryRun,
        ...apiOptions,
      ],
      run: overApi(async (api) => {
        const { call } = api;
        const permissions = listOf(call, 'permission');
        const body = {
          name: argumentOf(call, 'name'),
          expires_at: optionOf(call, 'expires') ?? null,
          permissions: permissions.length === 0 ? null : permissions,
        };
        const path = { service_account_id: await accountOf(api) };
        await handOver(api, 'key', () =>
          change(api, 'POST /api/v1/service-accounts/{service_account_id}/keys', {
            path,
            body,
            ...idempotency(call),
          }),
        );
      }),
    },
    rotate: {
      summary: 'Replace an API key by a new one.',
      arguments: [account, key],
      options: [
        {
          flags: '--overlap <seconds>',
          help: 'How long the replaced key is still accepted: a day, unless this says otherwise.',
        },
        expiryOption,
        fileOption,
        retryOption,
        ...destructiveOptions,
        ...apiOptions,
      ],
      run: overApi(async (api) => {
        const { call } = api;
        const overlap = optionOf(call, 'overlap');
        if (overlap !== undefined && !/^\d+$/.test(overlap))
          throw new UsageError('--overlap must be a number of seconds.');
        const service_account_id = await accountOf(api);
        const { id, name, prefix } = await keyOf(api, service_account_id);
        const expires_at = optionOf(call, 'expires');
        const body = {
          ...(overlap === undefined ? {} : { overlap_seconds: Number(overlap) }),
          ...(expires_at === undefined ? {} : { expires_at }),
        };
        await handOver(api, 'key', () =>
          change(
            api,
            'POST /api/v1/service-accounts/{service_account_id}/keys/{key_id}/rotate',
            { path: { service_account_id, key_id: id }, body, ...idempotency(call) },
            body.overlap_seconds === 0 ? { consequences: [endsAtOnce({ name, prefix })] } : {},
          ),
        );
      }),
    },
    revoke: {
      summary: 'Revoke an API key at once.',
      arguments: [account, key],
      options: [
        { flags: '--descendants', help: 'Revoke every key that was made with this one, too.' },
        ...destructiveOptions,
        ...apiOptions,
      ],
      run: overApi(async (api) => {
        const service_account_id = await accountOf(api);
        const { id, name, prefix } = await keyOf(api, service_account_id);
        const isWith = api.call.values.descendants === true;
        const answer = await change(
          api,
          'DELETE /api/v1/service-accounts/{service_account_id}/keys/{key_id}',
          {
            path: { service_account_id, key_id: id },
            ...(isWith ? { query: { with: 'descendants' as const } } : {}),
          },
          {
            consequences: [
              endsAtOnce({ name, prefix }),
              ...(isWith ? ['So is every key that was made with it.'] : []),
            ],
          },
        );
        report(api, answer, `Key ${prefix} revoked.${descendantsOf(answer?.result.data, isWith)}`);
      }),
    },
  },
};
