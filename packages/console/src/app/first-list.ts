// Which list the page Users shows first, and whether the person may read it: known before the app has loaded.
import { readPreference, writePreference } from '../common/preferences.ts';
import { preferredSize } from './page-size.ts';

const PREFERENCE = 'firstList';
const paths = ['/api/v1/users', '/api/v1/users/list'] as const;
export type ListPath = (typeof paths)[number];

/** The path of the list of users that this person may read. */
export const listPathOf = (can: (permission: string) => boolean): ListPath =>
  can('user.read') ? '/api/v1/users' : '/api/v1/users/list';

/** Returns undefined if the person may read neither list: asking would cause a refusal in the audit log. */
export const readableListPath = (can: (permission: string) => boolean): ListPath | undefined =>
  can('user.read') || can('users.read') ? listPathOf(can) : undefined;

/** Stores what the person may read, for the next time. */
export const rememberUserList = (can: (permission: string) => boolean): void =>
  writePreference(PREFERENCE, readableListPath(can) ?? null);

/** Returns the path of the list that the person could read the last time; undefined for none. */
export const knownListPath = (): ListPath | undefined =>
  paths.find((one) => one === readPreference(PREFERENCE));

export const withActivity = { include: 'activity' as const };

/** The page of users without anything in the address. */
export const firstUsers = () => ({ page: 1, size: preferredSize(), sort: '-created_at' as const });

/** What the page of users asks for without anything in its address. */
export const firstList = () => ({ query: { ...firstUsers(), ...withActivity } });
