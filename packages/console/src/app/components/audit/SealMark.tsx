// In which seal an entry is, and whether its personal data was erased.
import type { EntrySeal } from '@castellan/sdk';
import type { ReactElement } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { t } from '../../text.ts';

export function SealMark({ seal: { state, seal, is_erased: isErased } }: { seal: EntrySeal }): ReactElement {
  const texts = t.audit.seal;
  return (
    <>
      {state === 'inserted' ? (
        <span className="badge badge-bad">{texts.inserted}</span>
      ) : (
        <span>{seal === null ? texts.waiting : texts.sealed(formatNumber(seal))}</span>
      )}
      {isErased && <span className="badge badge-warn">{texts.erased}</span>}
    </>
  );
}
