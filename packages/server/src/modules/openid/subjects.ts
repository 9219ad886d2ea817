// The `sub` by which an application knows an account (OpenID Connect Core, 8).
import { createHmac } from 'node:crypto';
import type { Row } from '../../schema/database.ts';

/** How an application knows people. `sector`: the host that the subject is computed from. */
export type Subjects = Pick<Row<'applications'>, 'subject_type' | 'sector'>;

/** Returns the id of the account, or for `pairwise` 32 bytes as base64url that only applications of the sector share. `salt`: of the table pairwise_salt. */
export const subjectOf = ({ subject_type, sector }: Subjects, userId: string, salt: Buffer): string =>
  subject_type === 'public'
    ? userId
    : createHmac('sha256', salt).update(`${sector}\0${userId}`).digest('base64url');
