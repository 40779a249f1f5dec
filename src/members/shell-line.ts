/** The simple commands of a shell line, as unquoted words. */
export interface ShellLine {
  readonly commands: readonly (readonly string[])[];
  /** False if the line has syntax whose words are unknown. */
  readonly isCertain: boolean;
}

/**
 * Splits a line for a POSIX shell into its commands, including those in substitutions. Expansions stay in the words as
 * written: `hasExpansion` tells which words have one.
 */
export function commandsIn(line: string): ShellLine {
  const reader = new LineReader(line);
  reader.read();
  return reader;
}

/** Whether a word has parts that are known only at run time: variables, substitutions, templates, braces. */
export function hasExpansion(word: string): boolean {
  return /[$`]|%[A-Za-z_]\w*%|\{\{|\{[^{},]*,|<[^<>]*>/.test(word);
}

/** Quotes words so that `commandsIn` returns them as one command. */
export function quoted(words: readonly string[]): string {
  return words
    .map((word) => (/^[\w@%+=:,./${}-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`))
    .join(' ');
}

/** Reads each character at most once. An unclosed quote extends to the end of the text. */
class LineReader implements ShellLine {
  readonly commands: string[][] = [];
  isCertain = true;
  private at = 0;
  private depth = 0;

  constructor(private readonly text: string) {}

  read(end = ''): void {
    const { text } = this;
    let words: string[] = [];
    let word: string | undefined;
    let isTarget = false;
    // The patterns of a `case` are not programs.
    let isPattern = false;
    let parentheses = 0;
    // Between `[[` and `]]`, operators only separate words; a shell without `[[` may still run them as commands.
    let isTest = false;
    let isList = false;
    const endWord = () => {
      if (word === '[[') isTest = true;
      else if (word === ']]') isTest = false;
      if (word !== undefined && !isTarget) words.push(word);
      if (word !== undefined) isTarget = false;
      word = undefined;
    };
    const endCommand = (by = '') => {
      endWord();
      isTarget = false;
      isTest = false;
      isList = false;
      const isCase = words[0] === 'case' || (isPattern && words[0] !== 'esac');
      if (words.length > 0) this.commands.push(isPattern && isCase ? ['case', ...words] : words);
      isPattern = by === ';;' || (isCase && by !== ')');
      words = [];
    };
    while (this.at < text.length) {
      const character = text.charAt(this.at);
      this.at += 1;
      if (character === end && parentheses === 0) {
        endCommand();
        return;
      }
      if (isTest && /[()|<>]/.test(character)) {
        endWord();
        continue;
      }
      switch (character) {
        case ' ':
        case '\t':
        case '\r':
          endWord();
          break;
        case '#':
          if (word === undefined) this.until('\n');
          else word += character;
          if (word === undefined) endCommand();
          break;
        case '>':
        case '<':
          // The descriptor before it is not a word.
          if (/^\d+$/.test(word ?? '')) word = undefined;
          endWord();
          while (/[<>&|-]/.test(text.charAt(this.at))) this.at += 1;
          if (text.charAt(this.at) === '(') this.isCertain = false;
          isTarget = true;
          break;
        case '&':
          if (text.charAt(this.at) === '>') break;
          if (isTest && text.charAt(this.at) === '&') {
            this.at += 1;
            endWord();
          } else endCommand();
          break;
        case ';':
          if (text.charAt(this.at) === ';') this.at += 1;
          endCommand(text.charAt(this.at - 2) === ';' ? ';;' : ';');
          break;
        case '(':
          if (word?.endsWith('=')) {
            // A list of values.
            endWord();
            words.push('declare');
            isList = true;
            break;
          }
          if (!isPattern && words[0] !== 'case') parentheses += 1;
          endCommand();
          break;
        case ')':
          if (isList) {
            endWord();
            isList = false;
            break;
          }
          if (!isPattern && words[0] !== 'case' && parentheses > 0) parentheses -= 1;
          endCommand(')');
          break;
        case '\n':
        case '|':
          endCommand();
          break;
        default:
          if (character === '\\' && text.charAt(this.at) === '\n') this.at += 1;
          else word = (word ?? '') + this.part(character);
      }
    }
    if (end !== '') this.isCertain = false;
    endCommand();
  }

  /** Reads the part of a word that begins with this character. */
  private part(character: string): string {
    const { text } = this;
    switch (character) {
      case '\\': {
        const next = text.charAt(this.at);
        this.at += 1;
        return next === '\n' ? '' : next;
      }
      case "'":
        return this.until("'");
      case '"':
        return this.doubleQuoted();
      case '$':
      case '`':
        return this.expansion(character);
      default:
        return character;
    }
  }

  private doubleQuoted(): string {
    const { text } = this;
    let word = '';
    while (this.at < text.length) {
      const character = text.charAt(this.at);
      this.at += 1;
      if (character === '"') return word;
      if (character === '\\' && /["$`\\\n]/.test(text.charAt(this.at))) word += this.part(character);
      else if (character === '$' && /['"]/.test(text.charAt(this.at))) word += character;
      else word += /[$`]/.test(character) ? this.expansion(character) : character;
    }
    this.isCertain = false;
    return word;
  }

  /** Reads an expansion; the commands in a substitution become commands of the line. */
  private expansion(character: string): string {
    const { text } = this;
    const start = this.at - 1;
    const next = text.charAt(this.at);
    if (character === '`' || next === '(') {
      if (next === '(' && character === '$') this.at += 1;
      if (text.startsWith('((', this.at - 1)) {
        // An arithmetic expression.
        const expression = this.until('))');
        if (/[`$]\(|`/.test(expression)) this.isCertain = false;
        return text.slice(start, this.at);
      }
      this.depth += 1;
      if (this.depth > MAX_SUBSTITUTIONS) this.isCertain = false;
      else this.read(character === '`' ? '`' : ')');
      this.depth -= 1;
    } else if (next === '{') {
      const braced = this.until('}');
      if (/[`(]/.test(braced)) this.isCertain = false;
    } else if (next === "'") {
      this.at += 1;
      const escaped = this.until("'");
      if (escaped.includes('\\')) this.isCertain = false;
      return escaped;
    } else if (next === '"') return '';
    return text.slice(start, this.at);
  }

  /** Returns the text before a character, and moves past it. */
  private until(end: string): string {
    const found = this.text.indexOf(end, this.at);
    const start = this.at;
    if (found === -1 && end !== '\n') this.isCertain = false;
    this.at = found === -1 ? this.text.length : found + end.length;
    return this.text.slice(start, found === -1 ? undefined : found);
  }
}

/** Maximum nesting of substitutions; deeper ones are not read. */
const MAX_SUBSTITUTIONS = 8;
