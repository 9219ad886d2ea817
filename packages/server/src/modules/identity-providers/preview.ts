// Previews how many people a change of a provider would concern, or the refusal that it would get.
// It must not hold a lock while it counts, and it writes nothing but one audit entry.
import type { ProviderImpact, ProviderPreviewEnvelope } from '@castellan/contract/identity-providers';
import { AppError } from '../../platform/errors.ts';
import { recordEvent } from '../audit/service.ts';
import { actorOf, type Caller } from '../authz/caller.ts';
import type { Run } from '../authz/change.ts';
import { rehearsed } from '../authz/impact/preview.ts';
import { countImpact } from './ends-store.ts';
import type { ProviderDeps } from './record.ts';
import { findProviderById, type ProviderRow } from './store.ts';

const nothing: ProviderImpact = { identities: 0, sessions: 0, left_without: 0 };

/**
 * Rehearses the change, and returns what it would do. `concerns`: whether it does anything to people, of the provider as it is.
 * Throws what refuses the caller rather than the change.
 */
export async function previewEnds(
  deps: ProviderDeps,
  caller: Caller,
  id: string,
  { run, concerns }: { run: Run<unknown>; concerns: (provider: ProviderRow) => boolean },
): Promise<ProviderPreviewEnvelope> {
  const provider = await findProviderById(deps.db, id);
  if (!provider) throw new AppError('identity_provider_not_found');
  const { refusal } = await rehearsed(deps, caller, run);
  const counted = async () =>
    concerns(provider) ? deps.previewGate.run('all', caller.client, () => countImpact(deps.db, id)) : nothing;
  const impact = refusal ? null : await counted();
  await recordEvent(deps, caller.client, {
    action: 'access_previewed',
    ...actorOf(caller.principal),
    resourceType: 'identity_provider',
    resourceId: id,
    details: {
      operation: caller.operation,
      ...(refusal ? { would_be_refused: refusal.code } : {}),
      ...impact,
    },
  });
  return {
    data: { dry_run: true, would_be_refused: refusal, impact },
    message: refusal
      ? 'Nothing was changed: the change would be refused.'
      : 'Nothing was changed: these are the people whom the change would concern.',
  };
}
