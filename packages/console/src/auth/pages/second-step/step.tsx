// What every way of the second step shows around itself, and how its proof is sent.
import type { ReactElement, ReactNode } from 'react';
import { later } from '../../later-text.ts';
import { Frame, type NoticeContent } from '../../parts.tsx';
import { completeSignIn, type Proof } from '../../sign-in/calls.ts';
import { endOf } from '../../sign-in/notices.ts';
import type { Method, Pending } from '../../sign-in/pending.ts';
import { t } from '../../text.ts';
import { useWork, type Work } from '../../work.ts';

export type Step = {
  pending: Pending;
  method: Method;
  onMethod: (method: Method) => void;
  isTrusted: boolean;
  setTrusted: (isTrusted: boolean) => void;
  onDone: (otherwise?: string) => Promise<void>;
  onEnd: (notice: NoticeContent | null) => void;
};

/** Does a task of the second step. A sign-in that is over goes back to the password. */
export function useStepWork({ onEnd }: Step, task: () => Promise<void>): Work {
  return useWork(async () => {
    try {
      await task();
    } catch (error) {
      const notice = endOf(error);
      if (!notice) throw error;
      onEnd(notice);
    }
  });
}

/** Sends what `prove` returns, and leads on. `otherwise`: the path for people whom no page has sent here. */
export function useProof(step: Step, prove: () => Proof, otherwise?: string): Work {
  return useStepWork(step, async () => {
    await completeSignIn(step.pending.token, prove(), step.isTrusted);
    await step.onDone(otherwise);
  });
}

/** The address in full, and once more in a field that is for password managers only. */
const Account = ({ email }: { email: string }): ReactElement => (
  <p className="muted" data-raw>
    {email}
    <input
      className="visually-hidden"
      name="email"
      type="email"
      autoComplete="username"
      readOnly
      tabIndex={-1}
      aria-hidden="true"
      value={email}
    />
  </p>
);

type StepFrameProps = { step: Step; notice: NoticeContent | null; children: ReactNode };

export function StepFrame({ step, notice, children }: StepFrameProps): ReactElement {
  const { pending, method, onMethod, onEnd } = step;
  const others = pending.methods.filter((one) => one !== method);
  return (
    <Frame title={t.secondStep} notice={notice} step={method}>
      <Account email={pending.email} />
      {children}
      <div className="apart">
        {others.length > 0 && (
          <>
            <h2>{later.secondStep.otherWays}</h2>
            <ul>
              {others.map((one) => (
                <li key={one}>
                  <button type="button" className="link" onClick={() => onMethod(one)}>
                    {later.secondStep.methods[one]}
                  </button>
                </li>
              ))}
            </ul>
          </>
        )}
        <button type="button" className="link" onClick={() => onEnd(null)}>
          {later.secondStep.back}
        </button>
      </div>
    </Frame>
  );
}

/** Nothing where the device cannot be trusted. */
export function TrustBox({ pending, isTrusted, setTrusted }: Step): ReactElement | null {
  if (pending.trustDays === 0) return null;
  return (
    <label className="check">
      <input
        type="checkbox"
        checked={isTrusted}
        onChange={(event) => setTrusted(event.currentTarget.checked)}
      />
      {later.secondStep.trust(pending.trustDays)}
    </label>
  );
}
