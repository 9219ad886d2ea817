// The `sid` by which an application knows a session. No application learns the id of a session, and two cannot compare theirs.
import { createHmac } from 'node:crypto';

const SID_BYTES = 16;

/** `key`: the purpose key `application sessions`. Returns base64url. */
export const sidOf = (key: Buffer, sessionId: string, applicationId: string): string =>
  createHmac('sha256', key)
    .update(`${sessionId}\0${applicationId}`)
    .digest()
    .subarray(0, SID_BYTES)
    .toString('base64url');
