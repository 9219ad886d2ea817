// What a change of access would do, before it is made: who loses what, then who gains what.
import type { AccessPreview, PreviewedRefusal } from '@castellan/sdk';
import { Button, Loader } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useId, useState } from 'react';
import { t } from '../../text.ts';
import { ErrorAlert, isStale, ReloadButton } from '../page/states.tsx';
import { AffectedList } from './AffectedList.tsx';

/** So many people and permissions are named; the others are counted. */
const SHOWN = 5;
/** From so many on, the person types the number. */
const MANY_SUBJECTS = 50;
/** The most that the service names. */
const MOST_NAMED = 10_000;

/** The query of a preview; `subjects`: how many of the affected it names, by default 100. */
export type PreviewQuery = { dry_run: true; subjects?: number };

/**
 * A preview. `key` names the change: another one is asked for again. `ask` gets the query to send, and is called a second
 * time, with more `subjects`, when the person wants to see all of the affected. Without `isAllowed`, the service is not
 * asked: it would only refuse the person.
 */
export function usePreview(
  key: readonly unknown[],
  ask: (signal: AbortSignal, query: PreviewQuery) => Promise<{ data: AccessPreview }>,
  isAllowed = true,
) {
  const id = JSON.stringify(key);
  const [openFor, setOpenFor] = useState<string | null>(null);
  const isOpen = openFor === id;
  // People and roles change: a preview is never older than the dialog that shows it.
  const fresh = { staleTime: 0, gcTime: 0 };
  const first = useQuery({
    ...fresh,
    enabled: isAllowed,
    queryKey: ['preview', ...key],
    queryFn: async ({ signal }) => (await ask(signal, { dry_run: true })).data,
  });
  const isCut = (first.data?.impact?.more ?? 0) > 0;
  const all = useQuery({
    ...fresh,
    enabled: isAllowed && isOpen && isCut,
    queryKey: ['preview of all', ...key],
    queryFn: async ({ signal }) => (await ask(signal, { dry_run: true, subjects: MOST_NAMED })).data,
  });
  return {
    data: first.data,
    error: first.error,
    refetch: first.refetch,
    /** Everybody that the change affects. */
    all: {
      isOpen,
      toggle: (): void => setOpenFor(isOpen ? null : id),
      impact: isCut ? all.data?.impact : first.data?.impact,
      error: all.error,
      refetch: all.refetch,
    },
  };
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
  if (refusal) return <Refusal refusal={refusal} />;
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
      <Names subjects={impact.subjects} more={impact.more} />
      {impact.inactive > 0 && <p className="muted">{t.common.impact.inactive(impact.inactive)}</p>}
      {impact.subjects.length > 0 && impact.subjects.length + impact.more > SHOWN && (
        <Everybody preview={preview} count={impact.subjects.length + impact.more} />
      )}
    </section>
  );
}

/** Why the service would refuse the change. */
export const Refusal = ({ refusal }: { refusal: PreviewedRefusal }): ReactElement => (
  <div className="impact impact-refused" role="alert">
    <p>
      {t.common.impact.refused} {t.common.errors.byCode[refusal.code] ?? textOf(refusal.detail)}
    </p>
    {isStale(refusal) && <ReloadButton />}
  </div>
);

type NamesProps = { subjects: readonly { name: string }[]; more: number };

/** The first of those affected. The service names nobody to people who may not read who has access. */
export function Names({ subjects, more }: NamesProps): ReactElement {
  if (subjects.length === 0) return <p className="muted">{t.common.impact.unnamed(more)}</p>;
  const unnamed = subjects.length + more - SHOWN;
  return (
    <p className="muted">
      {[
        subjects
          .slice(0, SHOWN)
          .map(({ name }) => name)
          .join(', '),
        ...(unnamed > 0 ? [t.common.list.more(unnamed)] : []),
      ].join(' · ')}
    </p>
  );
}

/** Opens the list of everybody affected. */
function Everybody({ preview: { all }, count }: { preview: Preview; count: number }): ReactElement {
  const id = useId();
  return (
    <div>
      <Button
        variant="subtle"
        size="compact-sm"
        aria-expanded={all.isOpen}
        aria-controls={id}
        onClick={all.toggle}
      >
        {all.isOpen ? t.common.impact.hideAll : t.common.impact.showAll(count)}
      </Button>
      <div id={id}>
        {all.isOpen && all.error && <ErrorAlert error={all.error} onRetry={() => void all.refetch()} />}
        {all.isOpen && !all.error && !all.impact && (
          <p className="impact-loading" role="status">
            <Loader size="xs" aria-hidden /> {t.common.list.loading}
          </p>
        )}
        {all.isOpen && all.impact && <AffectedList impact={all.impact} />}
      </div>
    </div>
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
