// The page Account.
import type { ReactElement } from 'react';
import { PageHeader } from '../../components/PageHeader.tsx';

export const Account = (): ReactElement => <PageHeader title="Account" />;
