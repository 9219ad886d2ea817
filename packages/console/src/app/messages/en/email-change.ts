// Texts of the dialog that asks for a new email address.
export const emailChange = {
  title: 'Change the email address',
  text: (email: string) => `You sign in with ${email}.`,
  field: 'New email address',
  help: 'We mail a link to the new address. When you open it, every other session of your account ends.',
  submit: 'Send the link',
  sent: (email: string) => `If ${email} can be used, a mail with a link is on its way to it.`,
  next: 'Until you open the link, nothing changes. It works for 24 hours.',
};
