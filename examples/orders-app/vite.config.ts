import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// In production, the proxy in front of your app sends /api to Castellan in the same way: the browser then sees one origin,
// and the session cookie belongs to it. start.ts adds the addresses.
export default defineConfig({ plugins: [react()] });
