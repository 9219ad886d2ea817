// The exact moment of a relative time, on hover and focus: one tooltip for all rows of a page.
import { type ReactElement, useEffect, useState } from 'react';

type Shown = { text: string; top: number; left: number };

const ID = 'time-tooltip';
/** Around the tooltip, in pixels. */
const GAP = 6;

const timeAt = ({ target }: Event): HTMLElement | null =>
  target instanceof Element ? target.closest<HTMLElement>('time[data-moment]') : null;

/** Render it once, above everything else. */
export function TimeTooltip(): ReactElement {
  const [shown, setShown] = useState<Shown | null>(null);
  useEffect(() => {
    let described: HTMLElement | null = null;
    const hide = (): void => {
      described?.removeAttribute('aria-describedby');
      described = null;
      setShown(null);
    };
    const show = (event: Event): void => {
      // The pointer may rest on the tooltip.
      if (event.target instanceof Element && event.target.id === ID) return;
      const time = timeAt(event);
      if (time === described) return;
      hide();
      if (!time?.dataset.moment) return;
      const { bottom, left } = time.getBoundingClientRect();
      described = time;
      time.setAttribute('aria-describedby', ID);
      setShown({ text: time.dataset.moment, top: bottom + GAP, left });
    };
    // A separate layer: the same Escape closes nothing below it. Moving the page moves the time away from it.
    const onKey = ({ key }: KeyboardEvent): void => {
      if (key === 'Escape') hide();
    };
    document.addEventListener('pointerover', show);
    document.addEventListener('focusin', show);
    document.addEventListener('focusout', hide);
    document.addEventListener('scroll', hide, { capture: true, passive: true });
    document.addEventListener('keydown', onKey, { capture: true });
    return () => {
      document.removeEventListener('pointerover', show);
      document.removeEventListener('focusin', show);
      document.removeEventListener('focusout', hide);
      document.removeEventListener('scroll', hide, { capture: true });
      document.removeEventListener('keydown', onKey, { capture: true });
    };
  }, []);
  return (
    <div
      id={ID}
      role="tooltip"
      data-layer
      className="time-tooltip"
      hidden={shown === null}
      ref={(box) => {
        if (!box || !shown) return;
        // Inside the window, also at its end and from right to left.
        const { width, height } = box.getBoundingClientRect();
        const left = Math.max(GAP, Math.min(shown.left, document.documentElement.clientWidth - width - GAP));
        const isBelow = shown.top + height + GAP <= window.innerHeight;
        box.style.left = `${left}px`;
        box.style.top = `${isBelow ? shown.top : shown.top - height - 2 * GAP - 18}px`;
      }}
    >
      {shown?.text}
    </div>
  );
}
