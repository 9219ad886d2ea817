// Schema of the settings in force. It must not contain the value of a secret.
import Type from 'typebox';
import { DataEnvelope } from './http/envelope.ts';

export const Setting = Type.Object(
  {
    name: Type.String({ description: 'The environment variable.' }),
    value: Type.Union([Type.String(), Type.Null()], {
      description:
        'The value in force. Null for a secret. A URL with a login is shown without login and options; null if that is not possible.',
    }),
    default: Type.String({ description: 'What counts if the variable is not set.' }),
    source: Type.Enum(['environment', 'file', 'default', 'generated'], {
      description:
        '`environment`: the variable is set. `file`: a file contains the value, which `<name>_FILE` or a systemd credential names. `generated`: it is not set, and the service generates a value when it needs one.',
    }),
    is_secret: Type.Boolean({ description: 'True if the setting is a secret or may contain one.' }),
    description: Type.String(),
  },
  { title: 'Setting' },
);

export const SettingListEnvelope = DataEnvelope(Type.Array(Setting));
