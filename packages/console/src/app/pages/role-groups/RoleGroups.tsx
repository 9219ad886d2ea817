// The page RoleGroups.
import type { ReactElement } from 'react';
import { PageHeader } from '../../components/PageHeader.tsx';

export const RoleGroups = (): ReactElement => <PageHeader title="RoleGroups" />;
