// What the pages between an application's request and its answer have in common.
import type { ReactElement, ReactNode } from 'react';
import type { End } from '../../interaction/answering.ts';
import type { Interaction } from '../../interaction/calls.ts';
import { asked } from '../../interaction/text.ts';
import { t } from '../../text.ts';
import type { Work } from '../../work.ts';

export type StepProps = {
  id: string;
  interaction: Interaction;
  onEnd: (end: End) => void;
};

export const nameOf = ({ application }: Interaction): string => application?.name ?? asked.application;

/** Who is signed in; nothing if nobody is. */
export const SignedInAs = ({ account }: Pick<Interaction, 'account'>): ReactElement | null =>
  account && (
    <p className="muted">
      {asked.account}{' '}
      <span data-raw>
        <b>{account.name}</b> ({account.email})
      </span>
    </p>
  );

type ChoiceProps = { work: Work; isBusy: boolean; isSecondary?: boolean; children: ReactNode };

/** A button that sends one of several answers. While one is on its way, none of them sends another. */
export const Choice = ({ work, isBusy, isSecondary = false, children }: ChoiceProps): ReactElement => (
  <button
    type="button"
    className={isSecondary ? 'button secondary' : 'button'}
    aria-disabled={isBusy ? true : undefined}
    onClick={() => isBusy || work.start()}
  >
    {work.isPending ? t.working : children}
  </button>
);
