// Arguments and options that several commands of users take.
import type { Api } from '../../../api/connection.ts';
import { optionsOf, textField } from '../../../api/fields.ts';
import { userId } from '../../../api/names.ts';
import { argumentOf } from '../../../command.ts';

export const user = { name: '<user>', help: 'The email or the id.' };
export const userOf = (api: Api) => userId(api, argumentOf(api.call, 'user'));

export const nameFields = {
  email: textField({ flags: '--email <email>', help: 'The email to sign in with.' }),
  first_name: textField({ flags: '--first-name <name>', help: 'The first name.' }),
  last_name: textField({
    flags: '--last-name <name>',
    help: "The last name; '' for people with a single name.",
  }),
};
export const nameOptions = optionsOf(nameFields);
