// The pane beside a list, which shows one record. On tablets it covers the end of the list, on phones the page.
import { CloseButton } from '@mantine/core';
import { type ReactElement, type ReactNode, useEffect, useRef } from 'react';
import { createPortal } from 'react-dom';
import { t } from '../../text.ts';
import { useEscape } from '../keyboard/escape.ts';

export const PANE_ID = 'pane';

type Props = { label: string; header: ReactNode; onClose: () => void; children: ReactNode };

/** Escape and the cross close it. The list beside it stays usable, so it is no dialog. */
export function SidePane({ label, header, onClose, children }: Props): ReactElement | null {
  const pane = useRef<HTMLElement>(null);
  useEscape(true, onClose);
  useEffect(() => {
    document.body.classList.add('has-pane');
    return () => document.body.classList.remove('has-pane');
  }, []);
  const target = document.getElementById(PANE_ID);
  if (!target) return null;
  return createPortal(
    <aside className="pane" aria-label={label} ref={pane}>
      <div className="pane-header">
        <div className="pane-heading">{header}</div>
        <CloseButton aria-label={t.common.actions.close} size="lg" onClick={onClose} />
      </div>
      <div className="pane-body">{children}</div>
    </aside>,
    target,
  );
}
