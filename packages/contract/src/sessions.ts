// A session as its owner sees it.
// It must never carry a token or a token's hash.
import Type from 'typebox';
import { Timestamp, Uuid } from './common.ts';
import { DataEnvelope } from './envelope.ts';

export const Session = Type.Object(
  {
    id: Uuid,
    origin_address: Type.Union([Type.String(), Type.Null()]),
    user_agent: Type.Union([Type.String(), Type.Null()]),
    created_at: Timestamp,
    last_used_at: Timestamp,
    expires_at: Timestamp,
    current: Type.Boolean({ description: 'True for the session that asks.' }),
  },
  { title: 'Session' },
);
export type Session = Type.Static<typeof Session>;

export const SessionListEnvelope = DataEnvelope(Type.Array(Session));
export const SessionParams = Type.Object({ session_id: Uuid });
