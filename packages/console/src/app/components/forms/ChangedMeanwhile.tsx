// Says that a record is not as the person saw it, field by field, before they confirm an act on it.
import type { ReactElement } from 'react';
import { t } from '../../text.ts';

export type ChangedField = { label: string; seen: string; stored: string };

type Props = {
  /** The fields that differ. */
  fields: readonly ChangedField[];
  /** The service has refused the act because of it. */
  isRefused: boolean;
};

export function ChangedMeanwhile({ fields, isRefused }: Props): ReactElement | null {
  if (fields.length === 0 && !isRefused) return null;
  return (
    <section className="changed" role="alert" aria-label={t.common.changed.title}>
      <strong>{isRefused ? t.common.changed.refused : t.common.changed.title}</strong>
      <p>{fields.length > 0 ? t.common.changed.text : t.common.changed.sameFields}</p>
      {fields.length > 0 && (
        <dl>
          {fields.map(({ label, seen, stored }) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd data-raw>{t.common.changed.stored(stored || '–')}</dd>
              <dd data-raw>{t.common.changed.seen(seen || '–')}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}
