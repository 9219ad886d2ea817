// HTTP of what people gave applications: for administrators, and for themselves.
import {
  AccessEndedEnvelope,
  AccessGrantPage,
  AccessGrantParams,
  AccessGrantQuery,
  AccessWithdrawnEnvelope,
  ApplicationUserParams,
  OwnApplicationsEnvelope,
  UserApplicationParams,
  UserApplicationsEnvelope,
} from '@castellan/contract/application-grants';
import { ApplicationParams } from '@castellan/contract/applications';
import { counted } from '../../platform/counted.ts';
import type { App } from '../../platform/http/server/server.ts';
import { callerOf, personCallerOf, userCallerOf } from '../authz/caller.ts';
import { listApplicationsOf } from './of-user.ts';
import { listOwnApplications, withdrawOwnAccess } from './own.ts';
import {
  endAccessOfUser,
  endGrantOfApplication,
  endGrantsOfApplication,
  type GrantDeps,
  listGrants,
} from './service.ts';

const endedMessage = (grants: number): string => `Ended ${counted(grants, 'authorization')}.`;

/** Under /api/v1. */
export function grantRoutes(app: App, deps: GrantDeps): void {
  applicationGrantRoutes(app, deps);
  userGrantRoutes(app, deps);
}

function applicationGrantRoutes(app: App, deps: GrantDeps): void {
  app.route({
    method: 'GET',
    url: '/applications/:application_id/grants',
    config: { access: 'application.read', errors: ['application_not_found'] },
    schema: {
      summary: 'List the people who have access to an application',
      description:
        'Needs `users.read`, too. Live authorizations, newest first: one for each sign-in to the application. `next_cursor` is the start of the next page.',
      params: ApplicationParams,
      querystring: AccessGrantQuery,
      response: { 200: AccessGrantPage },
    },
    handler: async (request) => ({
      ...(await listGrants(deps, callerOf(request), request.params.application_id, request.query)),
      message: 'Live authorizations, newest first.',
    }),
  });

  app.route({
    method: 'DELETE',
    url: '/applications/:application_id/grants',
    config: { access: 'application.update', errors: ['application_not_found'] },
    schema: {
      summary: 'End all access to an application',
      description:
        'Its tokens end at once; tokens for API resources that are verified without introspection count until they expire. People can sign in to it again.',
      params: ApplicationParams,
      response: { 200: AccessEndedEnvelope },
    },
    handler: async (request) => {
      const data = await endGrantsOfApplication(deps, callerOf(request), request.params.application_id);
      return { data, message: endedMessage(data.grants) };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/applications/:application_id/grants/:grant_id',
    config: { access: 'application.update', errors: ['application_not_found', 'access_grant_not_found'] },
    schema: {
      summary: 'End one authorization of an application',
      params: AccessGrantParams,
      response: { 200: AccessEndedEnvelope },
    },
    handler: async (request) => {
      const { application_id, grant_id } = request.params;
      const data = await endGrantOfApplication(deps, callerOf(request), application_id, grant_id);
      return { data, message: endedMessage(data.grants) };
    },
  });
}

function userGrantRoutes(app: App, deps: GrantDeps): void {
  app.route({
    method: 'GET',
    url: '/users/:user_id/applications',
    config: { access: 'users.read', errors: ['user_not_found'] },
    schema: {
      summary: 'List the applications that a user uses',
      description: 'Needs `application.read`, too. By name: those that have access now.',
      params: ApplicationUserParams,
      response: { 200: UserApplicationsEnvelope },
    },
    handler: async (request) => ({
      data: await listApplicationsOf(deps, callerOf(request), request.params.user_id),
      message: 'Applications, sorted by name.',
    }),
  });

  app.route({
    method: 'DELETE',
    url: '/users/:user_id/applications/:application_id',
    config: {
      access: 'session.revoke',
      errors: [
        'user_not_found',
        'application_not_found',
        'superuser_required',
        'acting_as',
        'privilege_escalation',
      ],
    },
    schema: {
      summary: 'End the access of an application to a user',
      description:
        'Ends every authorization of the user there. What they agreed to stays, so they can sign in to it again.',
      params: UserApplicationParams,
      response: { 200: AccessEndedEnvelope },
    },
    handler: async (request) => {
      const { user_id, application_id } = request.params;
      const data = await endAccessOfUser(deps, callerOf(request), user_id, application_id);
      return { data, message: endedMessage(data.grants) };
    },
  });

  app.route({
    method: 'GET',
    url: '/users/me/applications',
    config: { access: 'user', endsAccess: true },
    schema: {
      summary: 'List the applications that you use',
      description: 'By name: those that have access now, and those that you agreed to.',
      response: { 200: OwnApplicationsEnvelope },
    },
    handler: async (request) => ({
      data: await listOwnApplications(deps, personCallerOf(request)),
      message: 'Applications, sorted by name.',
    }),
  });

  app.route({
    method: 'DELETE',
    url: '/users/me/applications/:application_id',
    config: { access: 'user', endsAccess: true, errors: ['application_not_found'] },
    schema: {
      summary: 'Take back the access of an application',
      description:
        'Ends everything that you gave it, in all your browsers, and forgets what you agreed to. It has to ask again.',
      params: ApplicationParams,
      response: { 200: AccessWithdrawnEnvelope },
    },
    handler: async (request) => {
      const { application_id } = request.params;
      const data = await withdrawOwnAccess(deps, userCallerOf(request), application_id);
      return { data, message: 'Access taken back.' };
    },
  });
}
