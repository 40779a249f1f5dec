import { CST, Lexer } from 'yaml';

const MAX_BRACKETS = 64;
const MAX_INDICATORS = 64;
const MAX_INDENT = 256;
/** The lexer's mark before a scalar. */
const SCALAR = '\u001f';

/**
 * Is a YAML text nested more deeply than any configuration is?
 *
 * Asked before parsing: the parser is recursive, and a stack that runs out inside a regular expression does not throw, it
 * ends the process (V8: "RegExpCompiler Allocation failed"). Nesting comes from brackets, from `- - -` on one line, or
 * from indentation; each has a limit.
 */
export function isTooDeep(text: string): boolean {
  let brackets = 0;
  let indicators = 0;
  let lineBegins = true;
  let isScalar = false;
  for (const lexeme of new Lexer().lex(text)) {
    const type = isScalar ? 'scalar' : CST.tokenType(lexeme);
    isScalar = lexeme === SCALAR && !isScalar;
    if (type === 'flow-map-start' || type === 'flow-seq-start') brackets++;
    if ((type === 'flow-map-end' || type === 'flow-seq-end') && brackets > 0) brackets--;
    if (type === 'seq-item-ind' || type === 'explicit-key-ind') indicators++;
    if (type === 'newline') indicators = 0;
    if (brackets > MAX_BRACKETS || indicators > MAX_INDICATORS) return true;
    if (lineBegins && type === 'space' && lexeme.length > MAX_INDENT) return true;
    lineBegins = type === 'newline';
  }
  return false;
}
