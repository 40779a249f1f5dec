import { type ArgumentMetadata, Injectable, ValidationPipe } from '@nestjs/common';
import type { ValidationError } from 'class-validator';
import { LRUCache } from 'lru-cache';
import { ApiError } from './errors.js';

/** Memory for queries that were found right, counted by the length of their text. */
const REMEMBERED_CHARACTERS = 1024 * 1024;

/**
 * The one validation pipe. Unknown query parameters are ignored (contract §6), so nothing is stripped or refused here. Clients
 * ask the same over and over: what was found right is not checked again.
 */
@Injectable()
export class RequestValidation extends ValidationPipe {
  private readonly rightQueries = new LRUCache<string, object>({ maxSize: REMEMBERED_CHARACTERS });

  constructor() {
    super({
      transform: true,
      exceptionFactory: (problems) => {
        const details = problems.flatMap(sentences);
        return new ApiError('invalid_parameter', details.join('; '), details);
      },
    });
  }

  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (metadata.type !== 'query') return super.transform(value, metadata) as Promise<unknown>;
    const text = `${metadata.metatype?.name} ${metadata.data} ${JSON.stringify(value)}`;
    const known = this.rightQueries.get(text);
    if (known) return known;
    const query = (await super.transform(value, metadata)) as unknown;
    if (typeof query === 'object' && query !== null)
      this.rightQueries.set(text, Object.freeze(query), { size: text.length });
    return query;
  }
}

function sentences(problem: ValidationError): string[] {
  return [
    ...Object.values(problem.constraints ?? {}).slice(0, 1),
    ...(problem.children ?? []).flatMap(sentences),
  ];
}
