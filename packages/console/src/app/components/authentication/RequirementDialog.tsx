// Confirms a change of what a role or a permission requires, after telling whom it concerns and who cannot meet it yet.
// Telling needs the same proof as the change: nobody sets what they could not meet.
import type { AuthenticationImpact, AuthenticationPreview } from '@castellan/sdk';
import { Loader } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactElement, ReactNode } from 'react';
import { formatNumber } from '../../../common/format.ts';
import type { useWrite } from '../../data/api.ts';
import { isCode } from '../../data/errors.ts';
import { later, t } from '../../text.ts';
import { ConfirmDialog } from '../dialogs/ConfirmDialog.tsx';
import { Names, Refusal } from '../dialogs/impact.tsx';
import { type ChangedField, ChangedMeanwhile } from '../forms/ChangedMeanwhile.tsx';
import { ReadErrors } from '../page/states.tsx';

type Props = {
  title: string;
  /** What would be sent; null while it is what is stored, or incomplete. */
  body: object | null;
  ask: (signal: AbortSignal) => Promise<{ data: AuthenticationPreview }>;
  write: ReturnType<typeof useWrite<void, unknown>>;
  /** The requirement is lifted. */
  isLifted: boolean;
  /** What follows for people who cannot meet it yet. */
  unmet: string;
  /** What somebody else has changed since the dialog opened. */
  changed: readonly ChangedField[];
  onClose: () => void;
  children: ReactNode;
};

export function RequirementDialog(props: Props): ReactElement {
  const { title, body, ask, write, isLifted, unmet, changed, onClose, children } = props;
  const preview = useQuery({
    queryKey: ['preview', title, body],
    queryFn: async ({ signal }) => (await ask(signal)).data,
    enabled: body !== null,
    // People change: a preview is never older than the dialog that shows it.
    staleTime: 0,
    gcTime: 0,
  });
  const impact = preview.data?.impact ?? null;
  const isStale = isCode(write.error, 'precondition_failed');
  return (
    <ConfirmDialog
      title={title}
      confirmLabel={t.common.actions.save}
      isDangerous={impact !== null && impact.without_factor > 0}
      isPending={write.isPending}
      isDisabled={impact === null}
      error={isStale ? null : write.error}
      onConfirm={() => write.run()}
      onClose={onClose}
    >
      {children}
      <ReadErrors of={[preview]} />
      {preview.isLoading && (
        <p className="impact-loading" role="status">
          <Loader size="xs" aria-hidden /> {t.common.impact.loading}
        </p>
      )}
      {preview.data?.would_be_refused && <Refusal refusal={preview.data.would_be_refused} />}
      {impact && <Concerned impact={impact} isLifted={isLifted} unmet={unmet} />}
      <ChangedMeanwhile fields={changed} isRefused={isStale} />
    </ConfirmDialog>
  );
}

type ConcernedProps = { impact: AuthenticationImpact } & Pick<Props, 'isLifted' | 'unmet'>;

function Concerned({ impact, isLifted, unmet }: ConcernedProps): ReactElement {
  const texts = later.requirements.impact;
  const { holders, without_factor: without, subjects, more } = impact;
  if (holders === 0) return <p role="status">{texts.nobody}</p>;
  if (without === 0) return <p role="status">{isLifted ? texts.lifted(holders) : texts.allMeet(holders)}</p>;
  return (
    <section className="impact" aria-label={t.common.impact.title}>
      <div className="impact-lost" role="status">
        <strong>{texts.unmet(formatNumber(without), holders)}</strong>
        <p>{unmet}</p>
      </div>
      <Names subjects={subjects} more={more} />
    </section>
  );
}
