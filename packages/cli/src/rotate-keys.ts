// `castellan rotate-keys`. It deletes no key: the service's clean-up does, when nothing needs it any more.
import { rotateSigningKey } from '@castellan/server/modules/sessions/key-rotation';
import type { Call } from './command.ts';
import { onDatabase } from './database.ts';

export const rotateKeys = (call: Call): Promise<void> =>
  onDatabase(call, { existing: true }, async ({ deps, secretKey }) => {
    const { keyId, signsFrom } = await rotateSigningKey(
      { ...deps, secretKey },
      { atOnce: call.values.now === true },
    );
    call.print(
      call.values.now === true
        ? `Key ${keyId} signs as soon as an instance has read it, within a minute.`
        : `Key ${keyId} signs from ${signsFrom.toISOString()}.`,
    );
  });
