// Whether a service account reads the change feed, and how many streams it may have open.
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { ReadErrors } from '../../components/page/states.tsx';
import { Moment } from '../../components/text/time.tsx';
import { latestOpenings } from '../../data/audit/latest-openings.ts';
import { LONGEST_STREAM_MINUTES, type Openings } from '../../data/audit/openings.ts';
import { useCan } from '../../data/me.tsx';
import { later, t } from '../../text.ts';

export function FeedReaders({ accountId }: { accountId: string }): ReactElement {
  const texts = later.feed;
  const mayRead = useCan('audit_log.read');
  const query = useQuery({ ...latestOpenings(accountId), enabled: mayRead });
  return (
    <section aria-label={texts.title}>
      <h3 className="section-title access-title">{texts.title}</h3>
      {!mayRead && <p className="muted">{t.common.forbidden.reason('audit_log.read')}</p>}
      <ReadErrors of={[query]} />
      {query.data && <Told openings={query.data} />}
    </section>
  );
}

function Told({ openings: { lastAt, most, isLowerBound } }: { openings: Openings }): ReactElement {
  const texts = later.feed;
  if (lastAt === null) return <p className="muted">{texts.never}</p>;
  return (
    <>
      <p>{most === 0 ? texts.none : isLowerBound ? texts.many(formatNumber(most)) : texts.most(most)}</p>
      {most > 0 && <p className="muted">{texts.why(formatNumber(LONGEST_STREAM_MINUTES))}</p>}
      <p className="muted">
        {texts.last} <Moment at={lastAt} />
      </p>
    </>
  );
}
