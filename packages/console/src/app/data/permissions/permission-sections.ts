// Permissions by group, as the matrix and the page of a role show them.
import type { Permission } from '@castellan/sdk';
import { searchFor } from '../../text-search.ts';

export type Section = { id: string; name: string; permissions: readonly Permission[] };

export function sectionsOf(permissions: readonly Permission[]): Section[] {
  const groups = new Map<string, { id: string; name: string; permissions: Permission[] }>();
  for (const permission of permissions) {
    const { id, name } = permission.group;
    const group = groups.get(id) ?? { id, name, permissions: [] };
    group.permissions.push(permission);
    groups.set(id, group);
  }
  return [...groups.values()].toSorted((a, b) => a.name.localeCompare(b.name));
}

/** Returns the sections with the permissions whose names contain the words of the text. */
export function filtered(sections: readonly Section[], text: string, groupId: string | undefined): Section[] {
  const isFound = searchFor(text);
  return sections
    .filter(({ id }) => groupId === undefined || id === groupId)
    .map((section) =>
      text.trim() === ''
        ? section
        : { ...section, permissions: section.permissions.filter(({ name }) => isFound(name)) },
    )
    .filter(({ permissions }) => permissions.length > 0);
}
