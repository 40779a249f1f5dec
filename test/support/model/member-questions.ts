import type { Answer, ConsumerQuestion, Question } from './model.js';
import { registryPath } from './questions.js';

/** Whether the question can also be asked about the members of the version. */
export function hasMembers(question: Question): question is ConsumerQuestion {
  return question.ask === 'version' && question.type === 'skill' && !question.deleted;
}

export function membersPath(question: ConsumerQuestion, prefix: string): string {
  const { type, name, version } = question;
  return `${registryPath(question, prefix)}/x/content/${type}/${name}/${version}/members`;
}

/** Converts the response for a document to the response for its members, whose description contains the source. */
export function expectedMembers(answer: Answer): Answer {
  if (!('shown' in answer)) return answer;
  const rows = answer.shown as readonly { name: string; from: string }[];
  return { ...answer, shown: rows.map(({ name, from }) => ({ name, description: from })) };
}

export function observedMembers(status: number, text: string): Answer {
  const body = JSON.parse(text) as { code: string; skills: readonly unknown[] };
  return status === 200 ? { status, shown: body.skills } : { status, code: body.code };
}
