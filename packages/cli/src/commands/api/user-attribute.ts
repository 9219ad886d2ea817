// `castellan user-attribute …`: the catalogue of the attributes that users can have.
import type { CreateUserAttribute, UserAttribute } from '@castellan/sdk';
import { change, destructiveOptions, ifVersion, report, versionOption } from '../../api/changes.ts';
import { apiOptions, overApi } from '../../api/connection.ts';
import { type Field, textField, yesNoField } from '../../api/fields.ts';
import { userAttributeId } from '../../api/names.ts';
import { type Column, listing, listOptions } from '../../api/output.ts';
import { commandsOf, descriptionField } from '../../api/records.ts';
import { argumentOf, type CommandGroup, listOf, optionOf, UsageError } from '../../command.ts';

const argument = { name: '<attribute>', help: 'The name or the id of the attribute.' };

const attributes = commandsOf({
  noun: 'user attribute',
  argument,
  all: '/api/v1/user-attributes',
  one: '/api/v1/user-attributes/{attribute_id}',
  find: userAttributeId,
});

type NotShown = 'created_at' | 'updated_at' | 'created_by_id';
type NotListed = NotShown | 'description' | 'values' | 'max_length' | 'claims' | 'sensitive';

const columns = Object.values({
  name: ['NAME', ({ name }) => name],
  label: ['LABEL', ({ label }) => label],
  type: ['TYPE', ({ type }) => type],
  self: ['SELF', ({ self }) => self],
  unique: ['UNIQUE', ({ unique }) => unique],
  searchable: ['SEARCHABLE', ({ searchable }) => searchable],
  required: ['REQUIRED', ({ required }) => required],
  id: ['ID', ({ id }) => id],
} satisfies Record<Exclude<keyof UserAttribute, NotListed>, Column<UserAttribute>>);

const labelField = textField({ flags: '--label <text>', help: 'What forms call it.' });
const newLabelField: Field<string> = {
  option: { flags: '--label <text>', help: 'What forms call it. It is needed.' },
  read: ({ call }) => {
    const text = optionOf(call, 'label');
    if (text === undefined) throw new UsageError('give --label, such as --label "Cost center".');
    return text;
  },
};

const typeField: Field<CreateUserAttribute['type']> = {
  option: {
    flags: '--type <type>',
    help: 'What its values are. It never changes. Default: string.',
    choices: ['string', 'number', 'integer', 'boolean', 'date', 'url', 'enum', 'json'],
  },
  read: ({ call }) => (optionOf(call, 'type') ?? 'string') as CreateUserAttribute['type'],
};

const valuesField: Field<string[] | undefined> = {
  option: {
    flags: '--value <text>',
    help: 'A text that an enum allows. Repeatable; replaces the whole list.',
    list: true,
  },
  read: ({ call }) => (call.values.value === undefined ? undefined : listOf(call, 'value')),
};

const lengthField: Field<number | undefined> = {
  option: { flags: '--max-length <number>', help: 'The longest string, 1 to 4000 characters. Default: 250.' },
  read: ({ call }) => {
    const text = optionOf(call, 'max-length');
    if (text === undefined) return undefined;
    if (!/^\d{1,9}$/.test(text)) throw new UsageError('--max-length must be a number.');
    return Number(text);
  },
};

const selfField: Field<UserAttribute['self'] | undefined> = {
  option: {
    flags: '--self <access>',
    help: 'What users do with their own value. Default: none.',
    choices: ['none', 'read', 'write'],
  },
  read: ({ call }) => optionOf(call, 'self') as UserAttribute['self'] | undefined,
};

const fields = {
  description: descriptionField,
  values: valuesField,
  max_length: lengthField,
  unique: yesNoField('unique', 'Whether no two users have the same value.'),
  searchable: yesNoField('searchable', 'Whether lists of users can be filtered by it.'),
  self: selfField,
  required: yesNoField('required', 'Whether administrators must give users a value.'),
  claims: yesNoField('claims', 'Whether applications are told it.'),
  sensitive: yesNoField('sensitive', 'Whether the audit log leaves out its values.'),
};

export const declaration: CommandGroup = {
  commands: {
    list: {
      summary: 'List the attributes that users can have.',
      options: [...listOptions, ...apiOptions],
      run: listing({ path: '/api/v1/user-attributes', columns }),
    },
    get: attributes.get<NotShown>({
      summary: 'Show an attribute.',
      facts: (data) => ({
        name: ['name', data.name],
        label: ['label', data.label],
        description: ['description', data.description],
        type: ['type', data.type],
        values: ['values', data.values],
        max_length: ['max length', data.max_length],
        unique: ['unique', data.unique],
        searchable: ['searchable', data.searchable],
        self: ['self', data.self],
        required: ['required', data.required],
        claims: ['claims', data.claims],
        sensitive: ['sensitive', data.sensitive],
        id: ['id', data.id],
      }),
    }),
    create: attributes.create({
      summary: 'Declare an attribute.',
      fields: { label: newLabelField, type: typeField, ...fields },
    }),
    update: attributes.update<'name' | 'type'>({
      summary: 'Change an attribute.',
      fields: { label: labelField, ...fields },
    }),
    delete: {
      summary: 'Delete an attribute.',
      arguments: [argument],
      options: [
        { flags: '--force', help: 'Remove the values of users with it.' },
        versionOption,
        ...destructiveOptions,
        ...apiOptions,
      ],
      run: overApi(async (api) => {
        const force = api.call.values.force === true;
        const name = argumentOf(api.call, 'attribute');
        const answer = await change(
          api,
          'DELETE /api/v1/user-attributes/{attribute_id}',
          {
            path: { attribute_id: await attributes.idIn(api) },
            ...(force ? { query: { force } } : {}),
            ...ifVersion(api.call),
          },
          {
            consequences: [
              `The user attribute ${name} is deleted${force ? ' with the values of all users' : ''}. This cannot be undone.`,
            ],
          },
        );
        report(api, answer, 'User attribute deleted.');
      }),
    },
  },
};
