// What every page of an identity that waits has in common.
import { type ReactElement, useState } from 'react';
import { isCode } from '../../client.ts';
import type { NoticeContent } from '../../parts.tsx';
import { noticeOf } from '../../parts.tsx';
import { signInAddress } from '../../provider/address.ts';
import { type PendingIdentity, withdrawPending } from '../../provider/calls.ts';
import { t } from '../../text.ts';
import { useWork, type Work } from '../../work.ts';

export type WaitingProps = {
  pending: PendingIdentity;
  /** Called when nothing waits in this browser. */
  onGone: () => void;
};

/** Does a task of a sign-in that waits. Where it waits no longer, the page says so. */
export function useWaitingWork({ onGone }: WaitingProps, task: () => Promise<void>): Work {
  return useWork(async () => {
    try {
      await task();
    } catch (error) {
      if (!isCode(error, 'pending_identity_not_found')) throw error;
      onGone();
    }
  });
}

/** Goes there, without a way back. The page stays as it is until the next one is there. */
export async function replace(address: string): Promise<void> {
  location.replace(address);
  await new Promise(() => {});
}

/** Ends what waits, and goes back to the sign-in page. */
export function Withdraw({ text }: { text: string }): ReactElement {
  const [notice, setNotice] = useState<NoticeContent | null>(null);
  const work = useWork(async () => {
    try {
      await withdrawPending();
    } catch (error) {
      // What is gone is as good as withdrawn.
      if (!isCode(error, 'pending_identity_not_found')) return setNotice(noticeOf(error));
    }
    await replace(signInAddress());
  });
  return (
    <div className="apart">
      {notice && <p className="field-error">{notice.text}</p>}
      <button type="button" className="link" onClick={() => work.start()}>
        {work.isPending ? t.working : text}
      </button>
    </div>
  );
}
