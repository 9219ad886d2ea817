// The page RolePage.
import type { ReactElement } from 'react';
import { PageHeader } from '../../components/PageHeader.tsx';

export const RolePage = (): ReactElement => <PageHeader title="RolePage" />;
