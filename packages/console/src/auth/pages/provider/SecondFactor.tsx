// Leads a sign-in that began at a provider to its second step, which is that of the sign-in page.
import { type ReactElement, useEffect } from 'react';
import { Form, Frame, noticeOf } from '../../parts.tsx';
import { signInAddress } from '../../provider/address.ts';
import { t } from '../../text.ts';
import { useWork } from '../../work.ts';
import { replace, type WaitingProps } from './waiting.tsx';

export function SecondFactor({ pending }: WaitingProps): ReactElement {
  const work = useWork(async () => {
    const { keepSecondStep } = await import('../second-step/load.ts');
    await keepSecondStep(pending.second_factor, pending.email ?? '');
    await replace(signInAddress());
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page opens
  useEffect(() => work.start(), []);
  return (
    <Frame title={t.secondStep} notice={noticeOf(work.error)}>
      {work.error ? <Form work={work} submit={t.continue} /> : <p className="muted">{t.working}</p>}
    </Frame>
  );
}
