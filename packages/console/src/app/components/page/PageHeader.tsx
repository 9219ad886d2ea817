// The heading of a page, its count, its part of the API reference, and its actions.
import { IconBook2 } from '@tabler/icons-react';
import { useRouterState } from '@tanstack/react-router';
import type { ReactElement, ReactNode } from 'react';
import { useEffect, useRef } from 'react';
import { addressOf, pageSettings } from '../../../common/page-settings.ts';
import { t } from '../../text.ts';

type Props = {
  title: string;
  /** Beside the title. Null as long as it is not known: it gets its place from the start. */
  note?: ReactNode;
  actions?: ReactNode;
};

/** Takes the focus when the page opens, so that screen readers read where one is, and names the browser's tab. */
export function PageHeader({ title, note, actions }: Props): ReactElement {
  const tag = useRouterState({ select: ({ matches }) => matches.at(-1)?.staticData.tag });
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · ${pageSettings.serviceName}`;
    // A dialog or a pane that opened with the page keeps the focus.
    if (!document.querySelector('[role="dialog"]')) heading.current?.focus({ preventScroll: true });
  }, [title]);
  return (
    <div className="page-header">
      <div className="page-title" data-note={note !== undefined || undefined}>
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {tag && (
          <a
            className="page-docs"
            href={addressOf(`/docs#tag/${tag}`)}
            target="_blank"
            rel="noreferrer"
            title={t.common.header.docs}
            aria-label={t.common.header.docs}
          >
            <IconBook2 size={18} aria-hidden />
          </a>
        )}
        {note !== undefined && <span className="muted">{note}</span>}
      </div>
      {actions && <div className="page-actions">{actions}</div>}
    </div>
  );
}
