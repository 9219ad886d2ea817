// `castellan user …`: people, their roles and sessions.
import type { CommandGroup } from '../../command.ts';
import { access } from './user/access.ts';
import { attributes } from './user/attributes.ts';
import { creation } from './user/creation.ts';
import { factors } from './user/factors.ts';
import { records } from './user/records.ts';

export const declaration: CommandGroup = {
  commands: { ...records, ...creation, ...access, ...attributes, ...factors },
};
