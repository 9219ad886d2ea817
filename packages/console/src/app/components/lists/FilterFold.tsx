// On phones, the filters of a list fold behind one button, so that the list begins on the first screen. Search boxes stay.
import { IconChevronDown } from '@tabler/icons-react';
import { type ReactElement, type ReactNode, useId, useState } from 'react';
import { t } from '../../text.ts';

type Props = {
  /** How many of the filters are set. */
  count: number;
  /** Shows them, such as one whose value was refused. */
  isForced?: boolean;
  children: ReactNode;
};

/** Style sheets decide where it folds, so that nothing moves when the page starts. */
export function FilterFold({ count, isForced = false, children }: Props): ReactElement {
  const id = useId();
  const [isOpened, setOpened] = useState(false);
  const isOpen = isOpened || isForced;
  return (
    <>
      <button
        type="button"
        className="filter-fold"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpened(!isOpen)}
      >
        {t.common.list.filters(count)}
        <IconChevronDown size={14} aria-hidden />
      </button>
      <div id={id} className="filter-folded" data-open={isOpen || undefined}>
        {children}
      </div>
    </>
  );
}
