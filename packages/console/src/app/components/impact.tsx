// What a change of access would do, before it is made: who loses what, then who gains what.
import type { AccessPreview } from '@castellan/sdk';
import { Loader } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { t } from '../text.ts';
import { ErrorAlert, isStale, ReloadButton } from './states.tsx';

/** So many people and permissions are named; the others are counted. */
const SHOWN = 5;
/** From so many on, the person types the number. */
const MANY_SUBJECTS = 50;

/**
 * A preview. `key` names the change: another one is asked for again. Without `isAllowed`, the service is not asked: it would
 * only refuse the person.
 */
export function usePreview(
  key: readonly unknown[],
  ask: (signal: AbortSignal) => Promise<{ data: AccessPreview }>,
  isAllowed = true,
) {
  return useQuery({
    enabled: isAllowed,
    queryKey: ['preview', ...key],
    queryFn: async ({ signal }) => (await ask(signal)).data,
    // People and roles change: a preview is never older than the dialog that shows it.
    staleTime: 0,
    gcTime: 0,
  });
}

export type Preview = ReturnType<typeof usePreview>;

/**
 * Returns the number that the person must type before this change: when more than 50 people lose something, or when somebody
 * loses a permission to delete. Null if nothing need be typed.
 */
export function numberToType(preview: AccessPreview | undefined): number | null {
  const impact = preview?.impact;
  if (!impact || impact.losing === 0) return null;
  const losesDeletion = impact.lost.some(({ permission }) => permission.endsWith('.delete'));
  return impact.losing > MANY_SUBJECTS || losesDeletion ? impact.losing : null;
}

type Props = {
  preview: Preview;
  /** What to say if nobody gains or loses anything. */
  nothing?: string | undefined;
};

export function Impact({ preview, nothing = t.common.impact.nothing }: Props): ReactElement {
  if (preview.error) return <ErrorAlert error={preview.error} onRetry={() => void preview.refetch()} />;
  const { data } = preview;
  if (!data)
    return (
      <p className="impact-loading" role="status">
        <Loader size="xs" aria-hidden /> {t.common.impact.loading}
      </p>
    );
  const { impact, would_be_refused: refusal } = data;
  if (refusal)
    return (
      <div className="impact impact-refused" role="alert">
        <p>
          {t.common.impact.refused} {t.common.errors.byCode[refusal.code] ?? textOf(refusal.detail)}
        </p>
        {isStale(refusal) && <ReloadButton />}
      </div>
    );
  if (!impact || impact.losing + impact.gaining === 0) return <p className="muted">{nothing}</p>;
  return (
    <section className="impact" aria-label={t.common.impact.title}>
      {impact.losing > 0 && (
        <Changes
          tone="lost"
          title={t.common.impact.losing(impact.losing)}
          lines={impact.lost.map(({ permission, subjects }) => t.common.impact.lost(subjects, permission))}
        />
      )}
      {impact.gaining > 0 && (
        <Changes
          tone="gained"
          title={t.common.impact.gaining(impact.gaining)}
          lines={impact.gained.map(({ permission, subjects }) =>
            t.common.impact.gained(subjects, permission),
          )}
        />
      )}
      <p className="muted">
        {[
          impact.subjects
            .slice(0, SHOWN)
            .map(({ name }) => name)
            .join(', '),
          ...(impact.subjects.length + impact.more > SHOWN
            ? [t.common.list.more(impact.subjects.length + impact.more - SHOWN)]
            : []),
        ].join(' · ')}
      </p>
      {impact.inactive > 0 && <p className="muted">{t.common.impact.inactive(impact.inactive)}</p>}
    </section>
  );
}

const textOf = (detail: unknown): string => (typeof detail === 'string' ? detail : JSON.stringify(detail));

type ChangesProps = { tone: 'lost' | 'gained'; title: string; lines: readonly string[] };

function Changes({ tone, title, lines }: ChangesProps): ReactElement {
  return (
    <div className={`impact-${tone}`}>
      <strong>{title}</strong>
      <ul>
        {lines.slice(0, SHOWN).map((line) => (
          <li key={line}>{line}</li>
        ))}
        {lines.length > SHOWN && <li>{t.common.list.more(lines.length - SHOWN)}</li>}
      </ul>
    </div>
  );
}
