import { TimeSlice } from './time-slice.js';

/**
 * What `JSON.stringify(value, null, 2)` gives for an object whose members hold thousands of others, which come one after the other:
 * all at once would hold up everybody else.
 */
export async function indentedJson(value: object): Promise<string> {
  const slice = new TimeSlice();
  const members: string[] = [];
  for (const [key, member] of Object.entries(value) as [string, unknown][]) {
    if (typeof member !== 'object' || member === null) {
      if (member !== undefined) members.push(`${JSON.stringify(key)}: ${JSON.stringify(member)}`);
      continue;
    }
    const items: string[] = [];
    for (const [name, item] of Object.entries(member) as [string, unknown][]) {
      await slice.pause();
      const text = JSON.stringify(item, null, 2)?.replaceAll('\n', '\n    ');
      if (Array.isArray(member)) items.push(text ?? 'null');
      else if (text !== undefined) items.push(`${JSON.stringify(name)}: ${text}`);
    }
    const [open, close] = Array.isArray(member) ? '[]' : '{}';
    const inside = items.length === 0 ? '' : `\n    ${items.join(',\n    ')}\n  `;
    members.push(`${JSON.stringify(key)}: ${open}${inside}${close}`);
  }
  return members.length === 0 ? '{}' : `{\n  ${members.join(',\n  ')}\n}`;
}
