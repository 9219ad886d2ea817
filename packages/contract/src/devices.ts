// Schemas of the browsers that a person has signed in from.
// They must not contain a token of a device, nor its hash.
import Type from 'typebox';
import { Nullable, Timestamp, Uuid } from './http/common.ts';
import { DataEnvelope } from './http/envelope.ts';

export const Device = Type.Object(
  {
    id: Uuid,
    user_agent: Nullable(Type.String()),
    network: Nullable(
      Type.String({ description: 'The network (IPv4 /24, IPv6 /64) of the latest sign-in.' }),
    ),
    created_at: Timestamp,
    last_used_at: Timestamp,
    trusted_until: Nullable(
      Type.String({
        format: 'date-time',
        description: 'Until when the password alone signs in on this device; null if it does not.',
      }),
    ),
    current: Type.Boolean({ description: 'True for the device of the session that sent this request.' }),
  },
  { title: 'Device' },
);
export type Device = Type.Static<typeof Device>;

export const DevicesEnvelope = DataEnvelope(Type.Array(Device));
export const DeviceParams = Type.Object({ device_id: Uuid });
