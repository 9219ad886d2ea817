// The operations of the pages between an application's request and its answer. The browser is known by its cookie, so none of
// them waits for an access token.
import type {
  AccountBody,
  ConsentBody,
  Interaction,
  Redirect,
  SignOutBody,
} from '@castellan/contract/interactions';
import type { StepUp } from '@castellan/sdk';
import { client } from '../client.ts';

export type { Interaction };

/** How these operations are sent. The type of the client leads each by its name to its own input and result. */
type Sender = {
  request(operation: string, input: object): Promise<{ result: { data: unknown } }>;
};
const sender: Sender = client;

const OPERATIONS = '/api/v1/oauth/interactions/{interaction_id}';

/** Rejects with `interaction_not_found` (404) for a request that is unknown, finished or has expired. */
export async function readInteraction(id: string, signal: AbortSignal): Promise<Interaction> {
  const { result } = await sender.request(`GET ${OPERATIONS}`, { path: { interaction_id: id }, signal });
  return result.data as Interaction;
}

/** Returns where the page goes next. Rejects with `browser_session_required` (401) when nobody is signed in. */
async function answer(id: string, name: string, body?: object): Promise<string> {
  const operation = `POST ${OPERATIONS}/${name}`;
  const { result } = await sender.request(operation, { path: { interaction_id: id }, body });
  return (result.data as Redirect).redirect_to;
}

export const sendConsent = (id: string, body: ConsentBody): Promise<string> => answer(id, 'consent', body);
export const chooseAccount = (id: string, decision: AccountBody['decision']): Promise<string> =>
  answer(id, 'account', { decision });
export const decideSignOut = (id: string, decision: SignOutBody['decision']): Promise<string> =>
  answer(id, 'sign-out', { decision });
export const proveAgain = (id: string, proof: StepUp): Promise<string> => answer(id, 'reauthenticate', proof);
/** Sends the person back: the application learns that they refused. */
export const cancel = (id: string): Promise<string> => answer(id, 'cancel');

/** Returns the id of the request of the device that shows this code. Rejects with `user_code_unknown` (404). */
export async function findDevice(userCode: string): Promise<string> {
  const { result } = await sender.request('POST /api/v1/oauth/device', { body: { user_code: userCode } });
  return (result.data as { interaction_id: string }).interaction_id;
}
