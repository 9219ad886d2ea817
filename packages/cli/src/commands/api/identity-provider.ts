// `castellan identity-provider …`: issuers that people sign in with. Commands have the key of a service account, which is no
// superuser, so they read providers and switch them off; all else is for the console.
import type { IdentityProvider } from '@castellan/sdk';
import { change, destructiveOptions, report } from '../../api/changes.ts';
import { type Api, apiOptions, overApi } from '../../api/connection.ts';
import { identityProviderId } from '../../api/names.ts';
import { type Column, listing, listOptions } from '../../api/output.ts';
import { commandsOf } from '../../api/records.ts';
import { argumentOf, type CommandGroup } from '../../command.ts';

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

const pathIn = async (api: Api) => ({
  provider_id: await identityProviderId(api, argumentOf(api.call, 'provider')),
});

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
