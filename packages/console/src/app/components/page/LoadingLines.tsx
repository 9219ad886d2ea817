// A short list in grey, while it loads.
import type { ReactElement } from 'react';
import { t } from '../../text.ts';

export const LoadingLines = (): ReactElement => (
  <div className="skeletons" role="status" aria-busy="true" aria-label={t.common.list.loading}>
    <i />
    <i />
  </div>
);
