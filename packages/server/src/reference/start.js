// Starts the viewer: this service's document, nothing from other hosts, nothing sent elsewhere.
Scalar.createApiReference('#reference', {
  url: new URL('./docs/openapi.json', location.href).href,
  servers: [{ url: new URL('./', location.href).href.replace(/\/$/, ''), description: 'This service' }],
  customFetch: window.castellanFetch,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  telemetry: false,
  withDefaultFonts: false,
  persistAuth: false,
  defaultOpenAllTags: false,
  documentDownloadType: 'json',
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  authentication: { preferredSecurityScheme: 'bearer' },
  metaData: { title: 'API reference · Castellan' },
});
