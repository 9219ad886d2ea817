// The page Permissions.
import type { ReactElement } from 'react';
import { PageHeader } from '../../components/PageHeader.tsx';

export const Permissions = (): ReactElement => <PageHeader title="Permissions" />;
