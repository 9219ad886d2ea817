// Looks at whether the address can have passkeys, and at passkeys that are bound to another domain.
import { otherPasskeyDomains } from '@castellan/server/modules/factors/passkeys/domains';
import type { Foundation } from '@castellan/server/start/foundation';
import { ok, type Report, warn } from './finding.ts';

export async function lookAtPasskeys({ deps }: Foundation): Promise<Report[]> {
  const { pool, db, passkeySite: site, settings } = deps;
  const address = site.isFit
    ? ok(`browsers offer passkeys at ${settings.publicUrl}; new ones belong to ${site.rpId}`)
    : ok(`browsers offer no passkeys at ${settings.publicUrl}, which needs https and a host with a name`);
  const { rows } = await pool.query<{ there: boolean }>(
    `select to_regclass('passkeys') is not null as there`,
  );
  if (!rows[0]?.there) return [address];
  const others = await otherPasskeyDomains(db, site);
  return [
    address,
    ...others.map(({ rp_id: rpId, passkeys, isUsable }) =>
      isUsable
        ? ok(`passkeys of ${rpId}: ${passkeys}; they work, because PASSKEY_FORMER_RP_IDS names it`)
        : warn(
            `passkeys of ${rpId}: ${passkeys}; they do not work here`,
            `Set PASSKEY_RP_ID to ${rpId}, or list it in PASSKEY_FORMER_RP_IDS: docs/configuration.md.`,
          ),
    ),
  ];
}
