// Tells operators which passkeys are bound to another domain than the service's. It must not change anything.
import { isUsableRpId, type PasskeySite } from '../../../platform/security/factors/passkey-site.ts';
import type { Db } from '../../../schema/database.ts';
import { countOtherRpIds } from './store.ts';

export type OtherDomain = { rp_id: string; passkeys: number; isUsable: boolean };

/** Returns the other domains with the number of their passkeys. */
export const otherPasskeyDomains = async (db: Db, site: PasskeySite): Promise<OtherDomain[]> =>
  (await countOtherRpIds(db, site.rpId)).map((found) => ({
    ...found,
    isUsable: isUsableRpId(site, found.rp_id),
  }));
