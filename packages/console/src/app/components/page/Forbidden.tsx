// What shows in place of a page, or of a part of one, that the person may not open.
import { IconLock } from '@tabler/icons-react';
import type { ReactElement } from 'react';
import { t } from '../../text.ts';
import { PageHeader } from './PageHeader.tsx';
import { Empty, MissingPermission } from './states.tsx';

type Props = {
  permission: string;
  /** The name of the page or of the part. */
  page: string;
};

export const Forbidden = ({ permission, page }: Props): ReactElement => (
  <>
    <PageHeader title={page} />
    <Empty
      icon={<IconLock size={32} aria-hidden />}
      title={t.common.forbidden.title}
      action={<MissingPermission permission={permission} page={page} />}
    />
  </>
);

/** For a tab: the page around it keeps its heading, its focus and the title of the browser's tab. */
export const ForbiddenPart = ({ permission, page }: Props): ReactElement => (
  <Empty
    icon={<IconLock size={32} aria-hidden />}
    title={t.common.forbidden.partTitle}
    headingLevel={3}
    action={<MissingPermission permission={permission} page={page} />}
  />
);
