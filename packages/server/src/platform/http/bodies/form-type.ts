// The media type of forms, apart from what parses them: refusals name it, too.
export const FORM_TYPE = 'application/x-www-form-urlencoded';
