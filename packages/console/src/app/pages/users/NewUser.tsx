// The page NewUser.
import type { ReactElement } from 'react';
import { PageHeader } from '../../components/PageHeader.tsx';

export const NewUser = (): ReactElement => <PageHeader title="NewUser" />;
