// Texts of the page Audit log.

export const audit = {
  title: 'Audit log',
};
