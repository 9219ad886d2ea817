// The operator's logo, or ours, and the name of the service.
import type { ReactElement } from 'react';
import { addressOf, logoWidth, pageSettings } from '../../common/page-settings.ts';

export const Brand = (): ReactElement => (
  <>
    {pageSettings.hasLogo ? (
      <img src={addressOf('/brand/logo')} alt="" width={logoWidth(28)} height={28} />
    ) : (
      <svg viewBox="0 0 28 28" width={28} height={28} aria-hidden="true">
        <rect width="28" height="28" rx="7" fill="var(--accent)" />
        <path
          fill="var(--accent-contrast)"
          d="M14 5l7 2.6v5.6c0 4.6-2.9 7.9-7 9.8-4.1-1.9-7-5.2-7-9.8V7.6z"
        />
      </svg>
    )}
    <span data-raw>{pageSettings.serviceName}</span>
  </>
);
