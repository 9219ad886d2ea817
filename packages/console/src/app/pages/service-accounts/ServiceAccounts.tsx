// The page ServiceAccounts.
import type { ReactElement } from 'react';
import { PageHeader } from '../../components/PageHeader.tsx';

export const ServiceAccounts = (): ReactElement => <PageHeader title="ServiceAccounts" />;
