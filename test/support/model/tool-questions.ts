import type { Answer, ConsumerQuestion, Question } from './model.js';
import { registryPath } from './questions.js';
import { toldBy, toolCall } from '../mcp.js';

type Row = Record<string, unknown>;

/** Whether the MCP endpoint is asked, too: it has a tool for neither deleted versions nor all versions of an entry. */
export function isForTool(question: Question): question is ConsumerQuestion {
  return 'byTool' in question && Boolean(question.byTool) && !question.deleted && question.ask !== 'versions';
}

/** Where and how the MCP endpoint is asked the same. */
export function toolRequest(question: ConsumerQuestion, prefix: string): { path: string; body: object } {
  const { ask, type, name, version } = question;
  const path = `${registryPath(question, prefix)}/mcp`;
  if (ask === 'list') return { path, body: toolCall(`search_${type}s`) };
  const [namespace, last] = name.split('/');
  const named = type === 'server' ? { name } : { namespace, name: last };
  return { path, body: toolCall(`get_${type}`, { ...named, version }) };
}

/** What the model says that a tool tells: the names and versions of the rows, of lists the latest ones. */
export function expectedOfTool({ ask, type }: ConsumerQuestion, answer: Answer): Answer {
  if (!('shown' in answer)) return answer;
  const rows = answer.shown as Row[];
  const told = ask === 'list' && type === 'server' ? rows.filter(({ isLatest }) => isLatest) : rows;
  return { status: 200, shown: told.map(({ name, version }) => ({ name, version })) };
}

/** What a tool told, in the words of the model. What is not there is told in a result, and as 404 by the routes. */
export function toldByTool({ ask, type }: ConsumerQuestion, reply: { status: number; text: string }): Answer {
  const json = JSON.parse(reply.text) as Row;
  if (reply.status !== 200) return { status: reply.status, code: String(json['code']) };
  const told: unknown = toldBy({ json: json as never });
  if (typeof told === 'string') return { status: 404, code: told.replace(/:.*/s, '') };
  const answer = told as Row;
  const rows = (ask === 'list' ? answer[`${type}s`] : [answer[type]]) as Row[];
  const nameOf = ({ namespace, name }: Row) =>
    type === 'server' ? name : `${String(namespace)}/${String(name)}`;
  return { status: 200, shown: rows.map((row) => ({ name: nameOf(row), version: row['version'] })) };
}
