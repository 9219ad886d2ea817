// Texts of the import of users.
import { createPlural } from '../../../../common/language.ts';

const plural = createPlural('en');

export const userImport = {
  title: 'Import users',
  text: 'Columns: email, first_name, last_name, roles (names, with semicolons between them), external_id. Existing users get the roles that they lack and keep everything else. New users get a password that nobody knows: they choose their own with “Forgot password”. Nothing is changed before you have seen what each row does.',
  attributes:
    'New users also get attributes: a column for each, such as attributes.cost_center, or all as JSON in the column attributes.',
  requiredColumns: (columns: string) => `Each new user needs a value in: ${columns}.`,
  file: 'CSV file',
  choose: 'Choose a CSV file',
  template: 'Download a template',
  problems: {
    empty: 'The file has no rows. The first row holds the names of the columns.',
    columns: 'The file needs the columns email and first_name in its first row, and each column once.',
    rows: 'The file has more than 1,000 rows. Split it.',
    size: 'The file is larger than 5 MiB. Split it.',
  },
  faults: {
    unclosed: (line: string) => `Line ${line}: a quotation mark opens here and is not closed.`,
    afterQuote: (line: string) =>
      `Line ${line}: text follows a closing quotation mark. A quotation mark within a quoted cell is written twice.`,
    binary: (line: string) => `Line ${line}: this is no text. Save the file as CSV in UTF-8.`,
  },
  rowProblems: {
    email: (text: string) => `“${text}” is not an email address.`,
    name: (_text: string) => 'A new user needs a first name.',
    duplicate: (line: string) => `The email is also in line ${line}.`,
    cells: (_text: string) =>
      'This row has more cells than the first one: a separator or a quotation mark is wrong.',
    role: (text: string) => `Unknown role: ${text}.`,
    attributeUnknown: (text: string) => `Unknown attribute: ${text}.`,
    attributeMissing: (text: string) => `Without a value of: ${text}.`,
    attributeJson: (text: string) => `The column ${text} is no JSON.`,
  },
  kinds: { create: 'New', assign: 'Roles', same: 'Nothing to do', error: 'Error' },
  summary: (created: number, assigned: number, same: number, wrong: number) =>
    [
      plural(created, { one: '# new user', other: '# new users' }),
      plural(assigned, { one: '# gets roles', other: '# get roles' }),
      plural(same, { one: '# stays as it is', other: '# stay as they are' }),
      plural(wrong, { one: '# with an error is left out', other: '# with errors are left out' }),
    ].join(' · '),
  line: 'Line',
  verdict: 'What happens',
  run: (count: number) => plural(count, { one: 'Import # row', other: 'Import # rows' }),
  assigned: (count: number) =>
    plural(count, { one: '# existing user has new roles.', other: '# existing users have new roles.' }),
  takenBack: (count: number) =>
    plural(count, {
      one: 'The roles of # user are as before.',
      other: 'The roles of # users are as before.',
    }),
  result: (done: number, failed: number) =>
    `${plural(done, { one: '# row imported.', other: '# rows imported.' })} ${plural(failed, { one: '# failed.', other: '# failed.' })}`,
  failedRow: (line: number, email: string) => `Line ${line}, ${email}:`,
  left: (done: number, undone: number) =>
    `${plural(done, { one: '# row imported.', other: '# rows imported.' })} ${plural(undone, { one: '# was not.', other: '# were not.' })}`,
  unreached: (count: number) =>
    plural(count, { one: 'You stopped it before # row.', other: 'You stopped it before # rows.' }),
  download: 'Download the rows that are left',
};
