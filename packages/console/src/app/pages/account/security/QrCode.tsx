// A QR code as inline SVG, drawn in the page: no image is asked for. Dark on white in both color schemes, or apps do not read it.
import type { ReactElement } from 'react';
import { encode } from 'uqr';

/** In modules. ISO/IEC 18004 demands four of light around the code. */
const QUIET_ZONE = 4;

export function QrCode({ text, label }: { text: string; label: string }): ReactElement {
  const { data, size } = encode(text, { ecc: 'M', border: QUIET_ZONE });
  const path = data
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('');
  return (
    <svg viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shapeRendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
