import type { Answer, ConsumerQuestion, Question } from './model.js';
import { registryPath } from './questions.js';
import { toolResult, toolCall } from '../mcp.js';

type Row = Record<string, unknown>;

/** Whether the MCP endpoint supports the question: it has no tool for deleted versions or all versions of an entry. */
export function isForTool(question: Question): question is ConsumerQuestion {
  return 'byTool' in question && Boolean(question.byTool) && !question.deleted && question.ask !== 'versions';
}

/** The equivalent request to the MCP endpoint. */
export function toolRequest(question: ConsumerQuestion, prefix: string): { path: string; body: object } {
  const { ask, type, name, version } = question;
  const path = `${registryPath(question, prefix)}/mcp`;
  if (ask === 'list') return { path, body: toolCall(`search_${type}s`) };
  const [namespace, last] = name.split('/');
  const named = type === 'server' ? { name } : { namespace, name: last };
  return { path, body: toolCall(`get_${type}`, { ...named, version }) };
}

/** The model's response reduced to what a tool returns: names and versions, and in lists only latest versions. */
export function expectedOfTool({ ask, type }: ConsumerQuestion, answer: Answer): Answer {
  if (!('shown' in answer)) return answer;
  const rows = answer.shown as Row[];
  const visible = ask === 'list' && type === 'server' ? rows.filter(({ isLatest }) => isLatest) : rows;
  return { status: 200, shown: visible.map(({ name, version }) => ({ name, version })) };
}

/** A tool's result in the model's terms. For a missing entry, a tool returns an error result instead of 404. */
export function observedByTool(
  { ask, type }: ConsumerQuestion,
  reply: { status: number; text: string },
): Answer {
  const json = JSON.parse(reply.text) as Row;
  if (reply.status !== 200) return { status: reply.status, code: String(json['code']) };
  const result: unknown = toolResult({ json: json as never });
  if (typeof result === 'string') return { status: 404, code: result.replace(/:.*/s, '') };
  const answer = result as Row;
  const rows = (ask === 'list' ? answer[`${type}s`] : [answer[type]]) as Row[];
  const nameOf = ({ namespace, name }: Row) =>
    type === 'server' ? name : `${String(namespace)}/${String(name)}`;
  return { status: 200, shown: rows.map((row) => ({ name: nameOf(row), version: row['version'] })) };
}
