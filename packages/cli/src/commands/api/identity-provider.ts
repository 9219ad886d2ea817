// `castellan identity-provider …`: issuers that people sign in with. A service account is no superuser, so its key reads
// providers and switches them off; all else needs the access token of a superuser's session. It must not take a secret as an argument.
import type { IdentityProvider, ProviderTest } from '@castellan/sdk';
import {
  change,
  changeOptions,
  destructiveOptions,
  idempotency,
  ifVersion,
  report,
  retryOption,
  versionOption,
} from '../../api/changes.ts';
import { type Api, apiOptions, overApi } from '../../api/connection.ts';
import { identityProviderId } from '../../api/names.ts';
import { type Column, listing, listOptions, printRecord } from '../../api/output.ts';
import { commandsOf } from '../../api/records.ts';
import { argumentOf, type CommandGroup, Failure, type Option } from '../../command.ts';
import { providerFrom } from './identity-provider/file.ts';

const argument = { name: '<provider>', help: 'The slug or the id of the identity provider.' };
const providers = commandsOf({
  noun: 'identity provider',
  argument,
  all: '/api/v1/identity-providers',
  one: '/api/v1/identity-providers/{provider_id}',
  find: identityProviderId,
  hasPreviews: true,
});

/** What the commands leave to `--json`: rules that decide about people. */
type Detail =
  | 'is_shown'
  | 'required_for_domains'
  | 'tenants'
  | 'connect'
  | 'allow_superusers'
  | 'role_ids'
  | 'role_mapping'
  | 'mapping'
  | 'sync_names'
  | 'acr_mapping'
  | 'logout'
  | 'extra_parameters'
  | 'team_id'
  | 'key_id'
  | 'client_auth';
type NotShown = Detail | 'created_at' | 'updated_at' | 'created_by_id';
type NotListed =
  | NotShown
  | 'client_id'
  | 'scopes'
  | 'position'
  | 'domains'
  | 'has_secret'
  | 'redirect_uri'
  | 'post_logout_redirect_uri'
  | 'backchannel_logout_uri';

const columns = Object.values({
  slug: ['SLUG', ({ slug }) => slug],
  name: ['NAME', ({ name }) => name],
  kind: ['KIND', ({ kind }) => kind],
  issuer: ['ISSUER', ({ issuer }) => issuer],
  is_active: ['ACTIVE', ({ is_active }) => is_active],
  sign_up: ['SIGN-UP', ({ sign_up }) => sign_up],
  email_trust: ['EMAIL TRUST', ({ email_trust }) => email_trust],
  id: ['ID', ({ id }) => id],
} satisfies Record<Exclude<keyof IdentityProvider, NotListed>, Column<IdentityProvider>>);

const endSessionsOption = {
  flags: '--end-sessions',
  help: 'End the sessions that began there. Without it, they go on.',
};

const endsSessions = ({ call }: Api) =>
  call.values['end-sessions'] === true ? { query: { end_sessions: true } } : {};

const fileOptions: readonly Option[] = [
  {
    flags: '--from <file>',
    help: 'A JSON file with the fields of the API; - is standard input. It is needed.',
  },
  {
    flags: '--secret-file <file>',
    help: 'A file whose only line is the secret that the provider gave, instead of client_secret in --from.',
  },
  {
    flags: '--private-key-file <file>',
    help: 'A PEM file with the private key, instead of private_key in --from.',
  },
];

const superuserNote =
  'Needs a superuser who has just proved who they are: give the access token of their session as CASTELLAN_API_KEY.';

const printTest = (api: Api, result: { data: ProviderTest }): void => {
  const { ok, issuer, checks } = result.data;
  printRecord(api, result, [
    ['issuer', issuer],
    ...checks.map((check): [string, string] => [
      check.name,
      `${check.ok ? 'ok' : 'failed'}${check.text === '' ? '' : `: ${check.text}`}`,
    ]),
  ]);
  if (!ok) throw new Failure(1, 'nobody can sign in by this provider until the failed checks pass.');
};

const pathIn = async (api: Api) => ({
  provider_id: await identityProviderId(api, argumentOf(api.call, 'provider')),
});

const consequencesOf = ({ call }: Api, body: object): string[] => [
  ...('issuer' in body
    ? ['If the issuer is another one, all accounts are disconnected and the sessions that began there end.']
    : []),
  ...(call.values['end-sessions'] === true ? ['The sessions that began there end.'] : []),
];

const created = ({ slug, redirect_uri }: IdentityProvider): string =>
  `Identity provider ${slug} created. Register this redirect address there: ${redirect_uri}`;

export const declaration: CommandGroup = {
  commands: {
    list: {
      summary: 'List identity providers, in the order of their buttons.',
      options: [...listOptions, ...apiOptions],
      run: listing({ path: '/api/v1/identity-providers', columns }),
    },
    get: providers.get<NotShown>({
      summary: 'Show an identity provider.',
      facts: (data) => ({
        slug: ['slug', data.slug],
        name: ['name', data.name],
        kind: ['kind', data.kind],
        issuer: ['issuer', data.issuer],
        id: ['id', data.id],
        client_id: ['client id', data.client_id],
        has_secret: ['has a secret', data.has_secret],
        redirect_uri: ['redirect address', data.redirect_uri],
        post_logout_redirect_uri: ['after a sign-out', data.post_logout_redirect_uri],
        backchannel_logout_uri: ['back-channel sign-out', data.backchannel_logout_uri],
        scopes: ['scopes', data.scopes],
        is_active: ['active', data.is_active],
        position: ['position', data.position],
        sign_up: ['sign-up', data.sign_up],
        domains: ['domains', data.domains],
        email_trust: ['email trust', data.email_trust],
      }),
    }),
    create: {
      summary: 'Create an identity provider.',
      options: [...fileOptions, retryOption, ...changeOptions, ...apiOptions],
      details: [superuserNote],
      run: overApi(async (api) => {
        const body = await providerFrom<'POST'>(api.call);
        const input = { body, ...idempotency(api.call) };
        const answer = await change(api, 'POST /api/v1/identity-providers', input);
        if (answer) report(api, answer, created(answer.result.data));
      }),
    },
    update: {
      summary: 'Change an identity provider: what the file does not have stays.',
      arguments: [argument],
      options: [...fileOptions, endSessionsOption, versionOption, ...destructiveOptions, ...apiOptions],
      details: [
        superuserNote,
        'A list or a map replaces the whole one. Asks before it sends an issuer, or ends sessions.',
      ],
      run: overApi(async (api) => {
        const body = await providerFrom<'PUT'>(api.call);
        const input = { path: await pathIn(api), body, ...endsSessions(api), ...ifVersion(api.call) };
        const options = { preview: true, consequences: consequencesOf(api, body) };
        const answer = await change(api, 'PUT /api/v1/identity-providers/{provider_id}', input, options);
        report(api, answer, 'Identity provider changed.');
      }),
    },
    test: {
      summary: 'Read the metadata and the keys of an identity provider, and say what is wrong.',
      arguments: [argument],
      options: apiOptions,
      details: [superuserNote, 'It signs nobody in. The exit code is 1 if a check failed.'],
      run: overApi(async (api) => {
        const path = await pathIn(api);
        const { result } = await api.client.request('POST /api/v1/identity-providers/{provider_id}/test', {
          path,
        });
        printTest(api, result);
      }),
    },
    disable: {
      summary: 'Let nobody sign in by an identity provider.',
      arguments: [argument],
      options: [endSessionsOption, ...destructiveOptions, ...apiOptions],
      run: overApi(async (api) => {
        const input = { path: await pathIn(api), body: { is_active: false }, ...endsSessions(api) };
        const slug = argumentOf(api.call, 'provider');
        const options = {
          preview: true,
          consequences: [`Nobody can sign in by ${slug} until it is switched on.`],
        };
        const answer = await change(api, 'PUT /api/v1/identity-providers/{provider_id}', input, options);
        report(api, answer, `Identity provider ${slug} is not active.`);
      }),
    },
  },
};
