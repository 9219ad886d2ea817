// Texts of the page API reference. The reference itself is in English.

export const reference = {
  title: 'API reference',
  text: 'Requests from this page are sent as you.',
  errors: 'Error codes',
  openapi: 'OpenAPI document',
  alone: 'Open without the frame',
  failed: 'The reference could not be loaded.',
};
