// `castellan webhook …`: endpoints that are told what the audit log records, and what they were sent.
import type { InputOf, Webhook, WebhookDelivery } from '@castellan/sdk';
import {
  change,
  changeOptions,
  destructiveOptions,
  dryRun,
  idempotency,
  ifVersion,
  isDryRun,
  report,
  retryOption,
  versionOption,
} from '../../../api/changes.ts';
import { type Api, apiOptions, overApi } from '../../../api/connection.ts';
import { webhookId } from '../../../api/names.ts';
import { fileOption, handOver } from '../../../api/new-key.ts';
import { type Column, listing, listOptions, printRecord } from '../../../api/output.ts';
import { commandsOf, nameArgument } from '../../../api/records.ts';
import {
  argumentOf,
  type CommandGroup,
  Failure,
  given,
  listOf,
  type Option,
  optionOf,
  UsageError,
} from '../../../command.ts';

const argument = nameArgument('webhook');
const webhooks = commandsOf({
  noun: 'webhook',
  argument,
  all: '/api/v1/webhooks',
  one: '/api/v1/webhooks/{webhook_id}',
  find: webhookId,
});
const pathIn = async (api: Api) => ({ webhook_id: await webhookId(api, argumentOf(api.call, 'webhook')) });

/** `--json` shows them. */
type NotListed =
  | 'events'
  | 'resource_types'
  | 'results'
  | 'personal'
  | 'paused_reason'
  | 'secrets'
  | 'last_success_at'
  | 'created_at'
  | 'updated_at'
  | 'created_by_id';

const columns = Object.values({
  name: ['NAME', ({ name }) => name],
  status: ['STATUS', ({ status, paused_reason }) => [status, paused_reason].filter(Boolean).join(': ')],
  url: ['URL', ({ url }) => url],
  waiting: ['WAITING', ({ waiting }) => waiting],
  dead: ['DEAD', ({ dead }) => dead],
  oldest_waiting_at: ['OLDEST', ({ oldest_waiting_at }) => oldest_waiting_at],
  id: ['ID', ({ id }) => id],
} satisfies Record<Exclude<keyof Webhook, NotListed>, Column<Webhook>>);

const deliveryColumns = Object.values({
  id: ['ID', ({ id }) => id],
  type: ['EVENT', ({ type }) => type],
  state: ['STATE', ({ state, replay }) => `${state}${replay ? ' (replay)' : ''}`],
  attempt_count: ['ATTEMPTS', ({ attempt_count }) => attempt_count],
  status: ['STATUS', ({ status }) => status],
  cause: ['CAUSE', ({ cause }) => cause],
  created_at: ['QUEUED', ({ created_at }) => created_at],
  next_at: ['NEXT', ({ next_at }) => next_at],
} satisfies Record<
  Exclude<keyof WebhookDelivery, 'event_id' | 'replay' | 'settled_at'>,
  Column<WebhookDelivery>
>);

const eventOption: Option = {
  flags: '--event <pattern>',
  help: 'A type of event, or the beginning of some and *, such as user_*. Repeatable.',
  list: true,
};
const fieldOptions: readonly Option[] = [
  { flags: '--endpoint <address>', help: 'Where events are sent.' },
  eventOption,
  {
    flags: '--resource-type <type>',
    help: 'Only events about records of this type. Repeatable.',
    list: true,
  },
  {
    flags: '--results <all|failure>',
    help: 'failure: only what was refused or went wrong.',
    choices: ['all', 'failure'],
  },
  {
    flags: '--personal <yes|no>',
    help: 'Whether events contain names, emails, addresses and user agents.',
    choices: ['yes', 'no'],
  },
];

type Changes = InputOf<'PUT /api/v1/webhooks/{webhook_id}'>['body'];
type Fields = Omit<Changes, 'name' | 'status'>;
type DeliveryQuery = NonNullable<InputOf<'GET /api/v1/webhooks/{webhook_id}/deliveries'>['query']>;

function fieldsIn({ call }: Api): Fields {
  const [events, types] = [listOf(call, 'event'), listOf(call, 'resource-type')];
  const personal = optionOf(call, 'personal');
  return given({
    url: optionOf(call, 'endpoint'),
    events: events.length === 0 ? undefined : events,
    resource_types: types.length === 0 ? undefined : types,
    results: optionOf(call, 'results'),
    personal: personal === undefined ? undefined : personal === 'yes',
  }) as Fields;
}

const REPLAY = 'POST /api/v1/webhooks/{webhook_id}/replay';

/** Says how many events a replay would queue. */
async function countOf({ client }: Api, { path, body }: InputOf<typeof REPLAY>): Promise<string> {
  const { result } = await client.request(REPLAY, { path, body: { ...body, count_only: true } });
  return `${result.data.count} events would wait to be sent.`;
}

const periodOptions: readonly Option[] = [
  { flags: '--from <time>', help: 'Not before this time, such as 2026-11-01T00:00:00Z.' },
  { flags: '--to <time>', help: 'Before this time.' },
];

export const declaration: CommandGroup = {
  commands: {
    list: {
      summary: 'List webhooks.',
      options: [...listOptions, ...apiOptions],
      run: listing({ path: '/api/v1/webhooks', columns }),
    },
    create: {
      summary: 'Create a webhook. Its secret is shown once, or written to a file.',
      arguments: [{ name: '<name>', help: 'A name for the webhook, such as the service behind it.' }],
      options: [...fieldOptions, fileOption, retryOption, dryRun, ...apiOptions],
      details: ['Needs --endpoint and --event.'],
      run: overApi(async (api) => {
        const { url, events, ...fields } = fieldsIn(api);
        if (url === undefined || events === undefined)
          throw new UsageError('give --endpoint and --event. Nothing was created.');
        const body = { name: argumentOf(api.call, 'name'), url, events, ...fields };
        await handOver(api, 'secret', () =>
          change(api, 'POST /api/v1/webhooks', { body, ...idempotency(api.call) }),
        );
      }),
    },
    update: {
      summary: 'Change, pause or resume a webhook.',
      arguments: [argument],
      options: [
        { flags: '--name <name>', help: 'Another name.' },
        ...fieldOptions,
        {
          flags: '--status <active|paused>',
          help: 'paused: events wait, for up to 7 days. active: what waits is sent.',
          choices: ['active', 'paused'],
        },
        versionOption,
        ...changeOptions,
        ...apiOptions,
      ],
      details: ['Events that are given replace all, and so do types.'],
      run: overApi(async (api) => {
        const { call } = api;
        const body = given({
          name: optionOf(call, 'name'),
          ...fieldsIn(api),
          status: optionOf(call, 'status'),
        }) as Changes;
        if (Object.keys(body).length === 0)
          throw new UsageError('nothing to change: give at least one option. Nothing was changed.');
        const input = { path: await pathIn(api), body, ...ifVersion(call) };
        const answer = await change(api, 'PUT /api/v1/webhooks/{webhook_id}', input);
        report(api, answer, 'Webhook changed.');
      }),
    },
    delete: webhooks.delete({ summary: 'Delete a webhook, with what waits for it.' }),
    rotate: {
      summary: 'Create a further secret of a webhook. The present ones end after the overlap.',
      arguments: [argument],
      options: [
        {
          flags: '--overlap <seconds>',
          help: 'How long the present secrets sign, too: a day, unless this says otherwise.',
        },
        fileOption,
        retryOption,
        ...destructiveOptions,
        ...apiOptions,
      ],
      run: overApi(async (api) => {
        const { call } = api;
        const overlap = optionOf(call, 'overlap') ?? '86400';
        if (!/^\d+$/.test(overlap)) throw new UsageError('--overlap must be a number of seconds.');
        const overlap_seconds = Number(overlap);
        const input = { path: await pathIn(api), body: { overlap_seconds }, ...idempotency(call) };
        const consequences =
          overlap_seconds === 0
            ? ['Receivers that have only the present secrets refuse events at once.']
            : [`Receivers need the new secret within ${overlap_seconds} seconds.`];
        await handOver(api, 'secret', () =>
          change(api, 'POST /api/v1/webhooks/{webhook_id}/secrets', input, { consequences }),
        );
      }),
    },
    test: {
      summary: 'Send a sample to a webhook, and say what it answers.',
      arguments: [argument],
      options: [{ flags: '--type <type>', help: 'The type of the sample.' }, ...apiOptions],
      details: ['The exit code is 1 if it did not arrive.'],
      run: overApi(async (api) => {
        const { result } = await api.client.request('POST /api/v1/webhooks/{webhook_id}/test', {
          path: await pathIn(api),
          body: given({ type: optionOf(api.call, 'type') }),
        });
        const { status, cause, ms } = result.data;
        printRecord(api, result, [
          ['status', status],
          ['cause', cause],
          ['milliseconds', ms],
        ]);
        if (cause !== null) throw new Failure(1, 'the sample did not arrive.');
      }),
    },
    deliveries: {
      summary: 'List what was sent to a webhook, and what waits, newest first.',
      arguments: [argument],
      options: [
        {
          flags: '--state <state>',
          help: 'Only these: waiting, sent or dead.',
          choices: ['waiting', 'sent', 'dead'],
        },
        { flags: '--type <type>', help: 'Only events of this type.' },
        ...periodOptions,
        ...listOptions,
        ...apiOptions,
      ],
      run: listing({
        path: '/api/v1/webhooks/{webhook_id}/deliveries',
        input: async (api) => {
          const query = given({
            state: optionOf(api.call, 'state'),
            type: optionOf(api.call, 'type'),
            from: optionOf(api.call, 'from'),
            to: optionOf(api.call, 'to'),
          });
          return { path: await pathIn(api), query: query as DeliveryQuery };
        },
        columns: deliveryColumns,
      }),
    },
    resend: {
      summary: 'Send a delivery again, whether or not it arrived.',
      arguments: [argument, { name: '<delivery>', help: 'The id that `webhook deliveries` shows.' }],
      options: [...changeOptions, ...apiOptions],
      run: overApi(async (api) => {
        const path = { ...(await pathIn(api)), delivery_id: argumentOf(api.call, 'delivery') };
        const answer = await change(
          api,
          'POST /api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/resend',
          { path },
        );
        report(api, answer, 'The delivery waits to be sent.');
      }),
    },
    replay: {
      summary: 'Send past events again: those that were given up, or all of a time.',
      arguments: [argument],
      options: [
        ...periodOptions,
        { flags: '--dead', help: 'Only deliveries that were given up. Without it, every event.' },
        eventOption,
        ...changeOptions,
        ...apiOptions,
      ],
      details: [
        'Needs --from. Receivers that have an event already know it by its webhook-id. --dry-run says how many events there are.',
      ],
      run: overApi(async (api) => {
        const { call } = api;
        const from = optionOf(call, 'from');
        if (from === undefined) throw new UsageError('give --from. Nothing was changed.');
        const events = listOf(call, 'event');
        const only: 'dead' | 'all' = call.values.dead === true ? 'dead' : 'all';
        const body = {
          from,
          only,
          ...given({ to: optionOf(call, 'to'), events: events.length === 0 ? undefined : events }),
        };
        const input = { path: await pathIn(api), body };
        const consequences = isDryRun(api) ? [await countOf(api, input)] : [];
        const answer = await change(api, REPLAY, input, { consequences });
        report(api, answer, `${answer?.result.data.count ?? 0} events wait to be sent.`);
      }),
    },
  },
};
