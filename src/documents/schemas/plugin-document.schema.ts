import { skillDocumentSchema } from './skill-document.schema.js';

const OF_SKILLS_ONLY = ['compatibility', 'allowedTools', 'provenance'];

/** The rules of a plugin document in the registry format: those of a skill, but for what only skills have. */
export const pluginDocumentSchema = {
  ...skillDocumentSchema,
  properties: Object.fromEntries(
    Object.entries(skillDocumentSchema.properties).filter(([key]) => !OF_SKILLS_ONLY.includes(key)),
  ),
};
