// Says how many routine entries a timeline leaves out, and shows or hides them.
import type { ResultOf } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import type { ReactElement } from 'react';
import { t } from '../../text.ts';
import { Empty } from '../page/states.tsx';

export type LeftOut = NonNullable<ResultOf<'GET /api/v1/audit-logs'>['routine_left_out']>;

export const isAnyLeftOut = ({ count, is_lower_bound }: LeftOut): boolean => count > 0 || is_lower_bound;

const textOf = ({ count, is_lower_bound: isLowerBound }: LeftOut): string => {
  if (count === 0) return t.audit.routine.maybeHidden;
  return isLowerBound ? t.audit.routine.atLeastHidden(count) : t.audit.routine.hidden(count);
};

/** One line above the entries. `leftOut` is undefined while they show. */
export const RoutineLine = ({
  leftOut,
  onToggle,
}: {
  leftOut: LeftOut | undefined;
  onToggle: () => void;
}): ReactElement => (
  <p className="muted routine-line">
    {leftOut ? textOf(leftOut) : t.audit.routine.shown}
    <span aria-hidden> · </span>
    <button
      type="button"
      className="link-button"
      aria-label={leftOut ? t.audit.routine.showLabel : t.audit.routine.hideLabel}
      onClick={onToggle}
    >
      {leftOut ? t.audit.routine.show : t.audit.routine.hide}
    </button>
  </p>
);

/** In place of the entries when all of them are left out. */
export const OnlyRoutine = ({
  leftOut,
  onShow,
  headingLevel,
}: {
  leftOut: LeftOut;
  onShow: () => void;
  headingLevel: 2 | 3;
}): ReactElement => (
  <Empty
    icon={<IconRefresh size={32} aria-hidden />}
    title={t.audit.routine.only}
    text={textOf(leftOut)}
    headingLevel={headingLevel}
    action={
      <Button variant="default" onClick={onShow}>
        {t.audit.routine.showLabel}
      </Button>
    }
  />
);
