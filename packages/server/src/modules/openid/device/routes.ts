// HTTP of the code that a person types for a device, under /api/v1/oauth. What follows is an interaction: authorize/routes.ts.
import { DeviceBody, FoundDeviceEnvelope } from '@castellan/contract/interactions';
import type { App } from '../../../platform/http/server/server.ts';
import { BROWSER_COOKIE } from '../../sessions/browser/cookie.ts';
import { findDevice, type LookupDeps } from './lookup.ts';

export function deviceRoutes(app: App, deps: LookupDeps): void {
  app.route({
    method: 'POST',
    url: '/device',
    config: {
      access: 'public',
      cookies: { reads: [BROWSER_COOKIE] },
      errors: ['browser_session_required', 'user_code_unknown', 'rate_limited'],
    },
    schema: {
      tags: ['OAuth'],
      summary: 'Find the request of a device by the code that it shows',
      description:
        'For the person who is signed in in this browser, and for nobody else. 429 after 5 wrong codes of a session in ten minutes, and ' +
        'after 30 of a network in an hour, for right ones too.',
      body: DeviceBody,
      response: { 200: FoundDeviceEnvelope },
    },
    handler: async ({ client, body }) => ({
      data: { interaction_id: await findDevice(deps, client, body.user_code) },
      message: 'A device asks for access.',
    }),
  });
}
