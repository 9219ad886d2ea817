// Says over every page as whom the person acts and until when, and ends it.
import { Button } from '@mantine/core';
import { IconUserShare } from '@tabler/icons-react';
import { type ReactElement, useState } from 'react';
import { formatClock } from '../../../common/format.ts';
import { notifyFailure } from '../../components/page/notify.tsx';
import { stopActing } from '../../data/acting/acting.ts';
import { later } from '../../text.ts';

export function ActingBar({ name, untilMs }: { name: string; untilMs: number }): ReactElement {
  const texts = later.acting.bar;
  const [isPending, setPending] = useState(false);
  const stop = (): void => {
    setPending(true);
    stopActing()
      .catch(notifyFailure)
      .finally(() => setPending(false));
  };
  return (
    <section className="acting-bar" aria-label={texts.label}>
      <IconUserShare size={18} aria-hidden />
      <p>
        {texts.as} <strong data-raw>{name}</strong>{' '}
        {texts.until(formatClock(new Date(untilMs).toISOString()))}
      </p>
      <Button size="compact-sm" variant="default" loading={isPending} onClick={stop}>
        {texts.stop}
      </Button>
    </section>
  );
}
