// The page Access.
import type { ReactElement } from 'react';
import { PageHeader } from '../../components/PageHeader.tsx';

export const Access = (): ReactElement => <PageHeader title="Access" />;
