// Texts of the page Attributes, and of the forms that show or ask for values of attributes.
import { createPlural } from '../../../../common/language.ts';

const plural = createPlural('en');

export const userAttributes = {
  search: 'Search by name or label',
  create: 'New attribute',
  empty: 'No attributes yet',
  emptyText:
    'Declare what your products keep about people besides their names, such as a cost center. Every user can then have a value of it.',
  fields: {
    name: 'Name',
    label: 'Label',
    description: 'Description',
    type: 'Type',
    values: 'Allowed values',
    max_length: 'Longest text (characters)',
    self: 'Users themselves',
    required: 'Required',
    unique: 'Unique',
    searchable: 'Searchable',
    claims: 'Told to applications',
    sensitive: 'Sensitive',
  },
  help: {
    name: 'What programs call it: a to z, digits and _. It never changes.',
    label: 'What forms call it.',
    description: 'Forms show it below the label.',
    type: 'It never changes.',
    values: 'One a line.',
    required: 'Administrators cannot leave it empty. It refuses no sign-in.',
    unique: 'No two users have the same value, ignoring case.',
    searchable: 'Lists of users can be filtered by it.',
    claims: 'Tokens, userinfo and introspection have it under its name.',
    sensitive: 'The audit log has … in place of its values.',
    notForJson: 'Not for JSON, which is not compared.',
  },
  types: {
    string: 'Text',
    number: 'Number',
    integer: 'Whole number',
    boolean: 'Yes or no',
    date: 'Day',
    url: 'Web address',
    enum: 'Choice',
    json: 'JSON',
  },
  self: { none: 'Do not see it', read: 'See their value', write: 'See and change their value' },
  /** Of the column. */
  traits: 'Properties',
  notWhole: 'Write a whole number.',
  saved: (label: string) => `${label} is saved.`,
  deleted: (label: string) => `${label} is deleted.`,
  deleteTitle: (label: string) => `Delete ${label}?`,
  deleteText: 'Forms no longer ask for it, and applications are no longer told. This cannot be undone.',
  inUse: (count: number) =>
    plural(count, {
      one: '# user has a value that stands in the way.',
      other: '# users have values that stand in the way.',
    }),
  deleteInUse: (count: number) =>
    plural(count, {
      one: '# user has a value of this attribute. It is lost for good.',
      other: '# users have a value of this attribute. All of them are lost for good.',
    }),
  deleteWithValues: (count: number) =>
    plural(count, { one: 'Delete with # value', other: 'Delete with # values' }),
  // Of values.
  title: 'Attributes',
  nothingDeclared: 'No attributes are declared.',
  declare: 'Declare attributes',
  none: 'None',
  yes: 'Yes',
  no: 'No',
  problems: {
    json: 'This is no JSON.',
    null: 'An object cannot hold null: leave the member out.',
  },
  valuesSaved: 'The attributes are saved.',
  optional: 'Optional attributes',
  cannotRead: (permission: string) =>
    `You cannot fill in attributes here: reading them needs the permission ${permission}.`,
  forAll: 'For everybody whom you invite now:',
  onePerLine: 'Must differ: one value a line, in the order of the addresses.',
  wrongCount: (values: number, people: number) =>
    `${plural(values, { one: '# value', other: '# values' })} for ${plural(people, { one: '# person', other: '# people' })}.`,
  filter: {
    attribute: 'Attribute',
    value: 'Value',
    apply: 'Filter',
    none: 'No attribute is searchable.',
  },
};
