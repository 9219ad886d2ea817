// What people see at an address that is not there.
import type { ReactElement } from 'react';
import { addressOf } from '../../common/page-settings.ts';
import { mayHaveSession } from '../client.ts';
import { Frame, Onward } from '../parts.tsx';
import { t } from '../text.ts';

export function Missing(): ReactElement {
  const isIn = mayHaveSession();
  return (
    <Frame title={t.missing.title}>
      <p>{t.missing.text}</p>
      {isIn && (
        <p className="onward">
          <a className="button" href={addressOf('/overview')}>
            {t.missing.start}
          </a>
        </p>
      )}
      <Onward signIn={!isIn} />
    </Frame>
  );
}
