// Texts of the page Sessions.

export const sessions = {
  title: 'Sessions',
};
