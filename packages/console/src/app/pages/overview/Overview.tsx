// The page Overview.
import type { ReactElement } from 'react';
import { PageHeader } from '../../components/PageHeader.tsx';

export const Overview = (): ReactElement => <PageHeader title="Overview" />;
