// `castellan application …`: services that people sign in to, their secrets, and who has access.
import type { Application, ApplicationSecret } from '@castellan/sdk';
import { change, destructiveOptions, dryRun, idempotency, report, retryOption } from '../../api/changes.ts';
import { type Api, apiOptions, overApi } from '../../api/connection.ts';
import { type Field, yesNoField } from '../../api/fields.ts';
import { apiResourceId, applicationId, permissionId, permissionIds, userId } from '../../api/names.ts';
import { fileOption, handOver } from '../../api/new-key.ts';
import { type Column, listing, listOptions, tableOf } from '../../api/output.ts';
import { commandsOf, descriptionField, nameArgument, nameField } from '../../api/records.ts';
import { jsonText } from '../../api/text.ts';
import {
  argumentOf,
  type CommandGroup,
  Failure,
  given,
  listOf,
  optionOf,
  UsageError,
} from '../../command.ts';
import { accessToApplications } from './application/access.ts';

const application = nameArgument('application');
const applications = commandsOf({
  noun: 'application',
  argument: application,
  all: '/api/v1/applications',
  one: '/api/v1/applications/{application_id}',
  find: applicationId,
  hasPreviews: true,
});

/** What the commands leave to the API: how tokens are made and how long they count. */
type Detail =
  | 'home_url'
  | 'policy_url'
  | 'terms_url'
  | 'jwks'
  | 'jwks_url'
  | 'grant_types'
  | 'subject_type'
  | 'sector'
  | 'id_token_signing_alg'
  | 'id_token_claims'
  | 'require_par'
  | 'require_dpop'
  | 'access_token_seconds'
  | 'id_token_seconds'
  | 'refresh_idle_days'
  | 'grant_days'
  | 'default_max_age';
type NotShown = Detail | 'created_at' | 'updated_at' | 'created_by_id';
type NotListed =
  | NotShown
  | 'description'
  | 'auth_method'
  | 'allowed_origins'
  | 'post_logout_redirect_uris'
  | 'backchannel_logout_url'
  | 'first_party'
  | 'scopes'
  | 'claims'
  | 'resources'
  | 'require_pkce'
  | 'required_permission_id';

const columns = Object.values({
  name: ['NAME', ({ name }) => name],
  client_id: ['CLIENT ID', ({ client_id }) => client_id],
  type: ['TYPE', ({ type }) => type],
  is_active: ['ACTIVE', ({ is_active }) => is_active],
  redirect_uris: ['REDIRECT ADDRESSES', ({ redirect_uris }) => redirect_uris],
  id: ['ID', ({ id }) => id],
} satisfies Record<Exclude<keyof Application, NotListed>, Column<Application>>);

const secretColumns: readonly Column<ApplicationSecret>[] = [
  ['NAME', ({ name }) => name],
  ['PREFIX', ({ prefix }) => prefix],
  ['CREATED', ({ created_at }) => created_at],
  ['EXPIRES', ({ expires_at }) => expires_at],
  ['LAST USED', ({ last_used_at }) => last_used_at],
  ['ID', ({ id }) => id],
];

const addressesField = (name: string, help: string): Field<string[] | undefined> => ({
  option: { flags: `--${name} <address>`, help: `${help} Repeatable; replaces the whole list.`, list: true },
  read: ({ call }) => (call.values[name] === undefined ? undefined : listOf(call, name)),
});

const typeField: Field<Application['type'] | undefined> = {
  option: {
    flags: '--type <type>',
    help: 'web (a server), spa, native or device. Default: web. It never changes.',
    choices: ['web', 'spa', 'native', 'device'],
  },
  read: ({ call }) => optionOf(call, 'type') as Application['type'] | undefined,
};

const authField: Field<Application['auth_method'] | undefined> = {
  option: {
    flags: '--auth-method <method>',
    help: 'How it authenticates itself. Default: secret for web, otherwise none.',
    choices: ['secret', 'private_key_jwt', 'none'],
  },
  read: ({ call }) => optionOf(call, 'auth-method') as Application['auth_method'] | undefined,
};

const permissionField: Field<string | null | undefined> = {
  option: {
    flags: '--required-permission <permission>',
    help: "Who may sign in: holders of this permission, by name or id; '' for everybody.",
  },
  read: (api) => {
    const text = optionOf(api.call, 'required-permission');
    if (text === undefined) return undefined;
    return text === '' ? null : permissionId(api, text);
  },
};

const scopesField: Field<Application['scopes'] | undefined> = {
  option: {
    flags: '--scope <scope>',
    help: 'A scope that it may ask for. Repeatable; replaces the whole list.',
    choices: ['openid', 'profile', 'email', 'roles', 'groups', 'permissions', 'offline_access'],
    list: true,
  },
  read: ({ call }) =>
    call.values.scope === undefined ? undefined : (listOf(call, 'scope') as Application['scopes']),
};

const claimsField: Field<Application['claims'] | undefined> = {
  option: {
    flags: '--claims <json>',
    help: 'What it is told about people beside the claims of its scopes: a JSON array of mappings.',
  },
  read: ({ call }) => {
    const text = optionOf(call, 'claims');
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text);
    } catch {
      throw new UsageError('--claims must be a JSON array. Nothing was changed.');
    }
  },
};

/** An identifier may contain `=`; a permission after it may not. */
const RESOURCE = /^(.+?)(?:=([^=]*))?$/;

const resourcesField: Field<{ resource_id: string; permission_ids: string[] | null }[] | undefined> = {
  option: {
    flags: '--resource <resource>',
    help:
      "An API resource that it may have tokens for, by name, identifier or id; '' for none. With =<permission>,… only for these permissions, " +
      'otherwise for those that it has now and you hold. Repeatable; replaces the whole list.',
    list: true,
  },
  read: async (api) => {
    if (api.call.values.resource === undefined) return undefined;
    const found = [];
    for (const text of listOf(api.call, 'resource')) {
      const [, resource, permissions] = RESOURCE.exec(text) ?? [];
      if (resource === undefined) continue;
      found.push({
        resource_id: await apiResourceId(api, resource),
        permission_ids:
          permissions === undefined
            ? null
            : await permissionIds(
                api,
                permissions.split(',').filter((name) => name !== ''),
              ),
      });
    }
    return found;
  },
};

const logoutField: Field<string | null | undefined> = {
  option: {
    flags: '--logout-url <address>',
    help: "Where it is told that a session has ended; '' for nowhere.",
  },
  read: ({ call }) => {
    const text = optionOf(call, 'logout-url');
    return text === '' ? null : text;
  },
};

const fields = {
  description: descriptionField,
  auth_method: authField,
  redirect_uris: addressesField('redirect', 'Where people are sent back to, character by character.'),
  post_logout_redirect_uris: addressesField('logout-redirect', 'Where people may be sent after sign-out.'),
  allowed_origins: addressesField('origin', 'An origin whose pages may call the token services.'),
  backchannel_logout_url: logoutField,
  first_party: yesNoField('first-party', 'Whether it is your own, so that people need not agree to it.'),
  required_permission_id: permissionField,
  scopes: scopesField,
  claims: claimsField,
  resources: resourcesField,
  require_pkce: yesNoField('pkce', 'Whether requests need PKCE. Only for web can it be no.'),
};

const clientIdField: Field<string> = {
  option: { flags: '--client-id <id>', help: 'What it calls itself. It is needed, and never changes.' },
  read: ({ call }) => {
    const text = optionOf(call, 'client-id');
    if (text === undefined) throw new UsageError('give --client-id, such as --client-id grafana.');
    return text;
  },
};

/** Finds a secret by id or by prefix. */
async function secretOf(api: Api, application_id: string): Promise<ApplicationSecret> {
  const text = argumentOf(api.call, 'secret');
  const { data } = await api.client.get('/api/v1/applications/{application_id}/secrets', {
    path: { application_id },
  });
  const found = data.find(({ id, prefix }) => id === text.toLowerCase() || prefix === text);
  if (!found) throw new Failure(3, `there is no secret "${text}". Nothing was changed.`);
  return found;
}

const idIn = (api: Api) => applicationId(api, argumentOf(api.call, 'application'));

export const declaration: CommandGroup = {
  commands: {
    list: {
      summary: 'List applications.',
      options: [
        { flags: '--search <text>', help: 'Part of the name or of the client id.' },
        ...listOptions,
        ...apiOptions,
      ],
      run: listing({
        path: '/api/v1/applications',
        input: async ({ call }) => ({ query: given({ search: optionOf(call, 'search') }) }),
        columns,
      }),
    },
    get: applications.get<NotShown>({
      summary: 'Show an application.',
      facts: (data) => ({
        name: ['name', data.name],
        client_id: ['client id', data.client_id],
        description: ['description', data.description],
        id: ['id', data.id],
        type: ['type', data.type],
        is_active: ['active', data.is_active],
        auth_method: ['authentication', data.auth_method],
        redirect_uris: ['redirect addresses', data.redirect_uris],
        post_logout_redirect_uris: ['after sign-out', data.post_logout_redirect_uris],
        allowed_origins: ['origins', data.allowed_origins],
        backchannel_logout_url: ['sign-out notices', data.backchannel_logout_url],
        first_party: ['first party', data.first_party],
        required_permission_id: ['required permission', data.required_permission_id],
        scopes: ['scopes', data.scopes],
        claims: ['claims', data.claims.map(({ name }) => name)],
        resources: ['API resources', data.resources.map(({ resource_id }) => resource_id)],
        require_pkce: ['PKCE', data.require_pkce],
      }),
    }),
    // A new application is active.
    create: applications.create<Detail | 'is_active'>({
      summary: 'Create an application.',
      fields: { client_id: clientIdField, type: typeField, ...fields },
      done: ({ name }, { client_secret: secret }) =>
        `Application ${name} created.${secret === undefined ? '' : ` Its secret, which is shown only this once: ${secret}`}`,
    }),
    update: applications.update<Detail | 'client_id' | 'type'>({
      summary: 'Change an application: addresses, who may sign in, whether it is active.',
      fields: {
        name: nameField,
        ...fields,
        is_active: yesNoField('active', 'Whether it is accepted.'),
      },
    }),
    delete: applications.delete({
      summary: 'Delete an application with its secrets. All access to it ends at once.',
    }),
    ...accessToApplications,
    claims: {
      summary: 'Show what tokens would tell an application about a user.',
      arguments: [application, { name: '<user>', help: 'The email or the id of the user.' }],
      options: apiOptions,
      run: overApi(async (api) => {
        const body = await api.client.post('/api/v1/applications/{application_id}/claims-preview', {
          path: { application_id: await idIn(api) },
          body: { user_id: await userId(api, argumentOf(api.call, 'user')) },
        });
        if (api.call.values.json === true) {
          api.call.print(jsonText(body, 2));
          return;
        }
        const { may_sign_in, userinfo, id_token, id_token_overage } = body.data;
        api.call.print(`may sign in: ${may_sign_in ? 'yes' : 'no'}`);
        api.call.print(`userinfo: ${jsonText(userinfo, 2)}`);
        api.call.print(`ID token: ${jsonText(id_token, 2)}`);
        if (id_token_overage) api.call.print('The ID token would exceed 6 KiB and lacks its lists.');
      }),
    },
    'secret list': {
      summary: 'List the secrets of an application.',
      arguments: [application],
      options: apiOptions,
      run: overApi(async (api) => {
        const body = await api.client.get('/api/v1/applications/{application_id}/secrets', {
          path: { application_id: await idIn(api) },
        });
        if (api.call.values.json === true) api.call.print(jsonText(body, 2));
        else tableOf(api, secretColumns)(body.data);
      }),
    },
    'secret create': {
      summary: 'Create a secret. The others stay.',
      arguments: [application],
      options: [
        { flags: '--name <name>', help: 'A name for the secret, such as the year.' },
        { flags: '--expires <time>', help: 'When it ends, such as 2027-01-01T00:00:00Z.' },
        fileOption,
        retryOption,
        dryRun,
        ...apiOptions,
      ],
      run: overApi(async (api) => {
        const { call } = api;
        const body = given({ name: optionOf(call, 'name'), expires_at: optionOf(call, 'expires') });
        const path = { application_id: await idIn(api) };
        await handOver(api, 'secret', () =>
          change(api, 'POST /api/v1/applications/{application_id}/secrets', {
            path,
            body,
            ...idempotency(call),
          }),
        );
      }),
    },
    'secret revoke': {
      summary: 'Revoke a secret at once.',
      arguments: [application, { name: '<secret>', help: 'The id or the prefix of the secret.' }],
      options: [...destructiveOptions, ...apiOptions],
      run: overApi(async (api) => {
        const application_id = await idIn(api);
        const { id, name, prefix } = await secretOf(api, application_id);
        const answer = await change(
          api,
          'DELETE /api/v1/applications/{application_id}/secrets/{secret_id}',
          { path: { application_id, secret_id: id } },
          { consequences: [`The secret ${prefix} (${name}) is refused at once. This cannot be undone.`] },
        );
        report(api, answer, `Secret ${prefix} revoked.`);
      }),
    },
  },
};
