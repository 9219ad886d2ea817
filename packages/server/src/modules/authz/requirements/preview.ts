// Previews a change of what a role or a permission requires: whom it concerns, and who could not meet it.

import type { Acr } from '@castellan/contract/authentication';
import type { AuthenticationPreviewEnvelope } from '@castellan/contract/requirements';
import { recordEvent } from '../../audit/service.ts';
import { actorOf, type Caller } from '../caller.ts';
import type { Run } from '../change.ts';
import { namedTo, type PreviewDeps, rehearsed } from '../impact/preview.ts';
import { findAffected, type Required } from './affected.ts';

/** Rehearses the change, and throws as `preview` does. */
export async function previewRequirement(
  deps: PreviewDeps,
  caller: Caller,
  { acr, ...required }: Required & { acr: Acr | null },
  run: Run<unknown>,
): Promise<AuthenticationPreviewEnvelope> {
  const { refusal } = await rehearsed(deps, caller, run);
  const impact = refusal
    ? null
    : await deps.previewGate.run('all', caller.client, () =>
        findAffected(deps.db, required, { acr, rpIds: caller.policy.rpIds }, namedTo(caller)),
      );
  await recordEvent(deps, caller.client, {
    action: 'access_previewed',
    ...actorOf(caller.principal),
    resourceType: required.kind,
    resourceId: required.id,
    details: {
      operation: caller.operation,
      ...(refusal ? { would_be_refused: refusal.code } : {}),
      ...(impact ? { holders: impact.holders, without_factor: impact.without_factor } : {}),
    },
  });
  return {
    data: { dry_run: true, would_be_refused: refusal, impact },
    message: refusal
      ? 'Nothing was changed: the change would be refused.'
      : 'Nothing was changed: this is whom the change would concern.',
  };
}
