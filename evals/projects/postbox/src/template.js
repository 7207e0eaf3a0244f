// Fills the blanks of a mail: {{name}} becomes the value of that name.

const BLANK = /\{\{\s*(\w+)\s*\}\}/g;

export const TEMPLATES = {
  welcome: { subject: "Welcome, {{name}}", body: "Hello {{name}},\n\nyour card is ready at the desk.\n" },
  overdue: { subject: "A book is due", body: "Hello {{name}},\n\n{{title}} was due on {{date}}.\n" },
  closing: { subject: "We are closed on {{date}}", body: "The library is closed on {{date}}.\n" },
};

export class MissingValue extends Error {}

export function fill(text, values) {
  return text.replace(BLANK, (_, name) => {
    if (!(name in values)) throw new MissingValue(`no value for ${name}`);
    return String(values[name]);
  });
}

// FIXME: values are not escaped for HTML mails
export function compose(kind, values) {
  const template = TEMPLATES[kind];
  if (!template) throw new RangeError(`unknown template ${kind}`);
  return { subject: fill(template.subject, values), body: fill(template.body, values) };
}
