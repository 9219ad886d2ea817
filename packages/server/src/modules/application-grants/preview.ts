// Previews how much access a change of an application would end, or the refusal that it would get.
// It must not hold a lock while it counts, and it writes nothing but one audit entry.
import type { ApplicationImpact, ApplicationPreviewEnvelope } from '@castellan/contract/application-grants';
import { recordEvent } from '../audit/service.ts';
import { actorOf, type Caller } from '../authz/caller.ts';
import type { Run } from '../authz/change.ts';
import { rehearsed } from '../authz/impact/preview.ts';
import type { GrantDeps } from './service.ts';
import { countGrants, countGrantsBeyond } from './store.ts';

/** Whose grants a change ends: everybody's, those of people without a permission, or nobody's. */
export type Ends = 'all' | { without: string } | 'none';

const nothing: ApplicationImpact = { grants: 0, users: 0, sessions: 0 };

/** Rehearses the change, and returns what it would end. Throws what refuses the caller rather than the change. */
export async function previewEnds(
  deps: GrantDeps,
  caller: Caller,
  { id, ends }: { id: string; ends: Ends },
  run: Run<unknown>,
): Promise<ApplicationPreviewEnvelope> {
  const { refusal } = await rehearsed(deps, caller, run);
  const impact = refusal
    ? null
    : await deps.previewGate.run('all', caller.client, () => countEnds(deps, id, ends));
  await recordEvent(deps, caller.client, {
    action: 'access_previewed',
    ...actorOf(caller.principal),
    resourceType: 'application',
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
      : 'Nothing was changed: this is how much access would end.',
  };
}

async function countEnds({ db }: GrantDeps, id: string, ends: Ends): Promise<ApplicationImpact> {
  if (ends === 'none') return nothing;
  return ends === 'all' ? countGrants(db, id) : countGrantsBeyond(db, id, ends.without);
}
