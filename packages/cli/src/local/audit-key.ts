// `castellan audit key`: the keys that sign the heads of the audit log, as verifiers read them.
// It must not print a private key.
import { findOwnKeys } from '@castellan/server/modules/evidence/heads/keys';
import { listAuditKeys, rotateAuditKey } from '@castellan/server/modules/evidence/heads/rotation';
import { readVerifierKey } from '@castellan/server/platform/evidence/signed-note';
import type { Call } from '../command.ts';
import { onDatabase } from './database.ts';

const NOTHING_SEALED =
  'nothing is sealed yet. Start the service with AUDIT_SEALING on; it seals within ten seconds.';

export async function auditKey(call: Call): Promise<void> {
  await onDatabase(call, { existing: true }, async ({ deps, secretKey }) => {
    if (call.values.rotate !== true) {
      const keys = await listAuditKeys(deps.db);
      if (keys.length === 0) throw new Error(NOTHING_SEALED);
      const own = await findOwnKeys(deps.db, secretKey);
      const isOwn = (key: string): boolean => own.some((one) => one.equals(readVerifierKey(key).publicKey));
      for (const key of keys.filter(isOwn)) call.print(key);
      const others = keys.filter((key) => !isOwn(key));
      if (others.length > 0)
        process.stderr.write(
          `SECRET_KEY does not open these keys. They are of a former SECRET_KEY, or somebody wrote them into the database. Trust only those that you had before:\n${others.join('\n')}\n`,
        );
      return;
    }
    const rotated = await rotateAuditKey({ ...deps, secretKey });
    if (!rotated) throw new Error(NOTHING_SEALED);
    call.print(`The new key is ${rotated.verifierKey}`);
    call.print('Give it to those who verify, with this head, which both keys have signed:');
    call.print(`\n${rotated.checkpoint}`);
  });
}
