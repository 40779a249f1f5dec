/** Loaded when it is first used: see `Skills`. */
export { SkillCatalogError, skillEntry } from '@modelcontextprotocol/server/ext/skills';
