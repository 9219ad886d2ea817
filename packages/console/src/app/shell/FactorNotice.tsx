// Says on every page that a second factor will be required, as long as none is set up.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactElement, useState } from 'react';
import { formatDay } from '../../common/format.ts';
import { readNotice } from '../../common/second-factor-notice.ts';
import { acting } from '../data/acting/acting.ts';
import { ownFactors } from '../data/second-factors/own-factors.ts';
import { t } from '../text.ts';

export function FactorNotice(): ReactElement | null {
  // Who acts as the user is not told, and could not set one up.
  const [notice] = useState(() => (acting ? null : readNotice()));
  const factors = useQuery({ ...ownFactors, enabled: notice !== null });
  const { requirement = null } = factors.data ?? {};
  const isMet = factors.data !== undefined && (requirement === null || requirement.met);
  if (notice === null || isMet) return null;
  const from = requirement?.enforced_from ?? notice.enforced_from;
  // From then on, the set-up takes the place of the page.
  if (Date.parse(from) <= Date.now()) return null;
  return (
    <p className="banner factor-notice" role="status">
      {t.common.factorNotice.text(formatDay(from))}{' '}
      <Link to="/account" hash="security" className="text-link">
        {t.common.factorNotice.setUp}
      </Link>
    </p>
  );
}
