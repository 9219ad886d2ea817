// The parts that commands of several kinds of records share.
import { argumentOf, type Option } from '../command.ts';
import { destructiveOptions, versionOption } from './changes.ts';
import type { Api } from './connection.ts';
import { apiOptions } from './connection.ts';
import type { Column } from './output.ts';

export const nameArgument = (kind: string, name = kind.replace(' ', '-')) => ({
  name: `<${name}>`,
  help: `The name or the id of the ${kind}.`,
});

export const describing: readonly Option[] = [
  { flags: '--name <name>', help: 'The name.' },
  { flags: '--description <text>', help: 'What it is for.' },
];

export const deleteOptions: readonly Option[] = [versionOption, ...destructiveOptions, ...apiOptions];

type Described = { id: string; name: string; description: string };

export const describedColumns: readonly Column<Described>[] = [
  ['NAME', ({ name }) => name],
  ['DESCRIPTION', ({ description }) => description],
  ['ID', ({ id }) => id],
];

export const cannotBeUndone = (api: Api, kind: string, argument: string): string[] => [
  `The ${kind} ${argumentOf(api.call, argument)} is deleted. This cannot be undone.`,
];
