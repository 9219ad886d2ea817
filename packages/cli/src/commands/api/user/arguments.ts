// Arguments and options that several commands of users take.
import type { Api } from '../../../api/connection.ts';
import { userId } from '../../../api/names.ts';
import { argumentOf, type Option } from '../../../command.ts';

export const user = { name: '<user>', help: 'The email or the id.' };
export const userOf = (api: Api) => userId(api, argumentOf(api.call, 'user'));

export const nameOptions: readonly Option[] = [
  { flags: '--email <email>', help: 'The email to sign in with.' },
  { flags: '--first-name <name>', help: 'The first name.' },
  { flags: '--last-name <name>', help: "The last name; '' for people with a single name." },
];
