// The table in grey, while its first rows load.
import type { ReactElement } from 'react';
import { t } from '../../text.ts';

export function Skeletons({ label, count }: { label: string; count: number }): ReactElement {
  return (
    <div className="table-card skeletons" role="status" aria-busy="true" aria-label={label}>
      <span className="visually-hidden">{t.common.list.loading}</span>
      {Array.from({ length: count }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the grey rows are all the same
        <i key={index} />
      ))}
    </div>
  );
}
