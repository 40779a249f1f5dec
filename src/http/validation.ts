import { ValidationPipe } from '@nestjs/common';
import type { ValidationError } from 'class-validator';
import { ApiError } from './errors.js';

/** The one validation pipe. Unknown query parameters are ignored (contract §6), so nothing is stripped or refused here. */
export function validationPipe(): ValidationPipe {
  return new ValidationPipe({
    transform: true,
    exceptionFactory: (problems) => {
      const details = problems.flatMap(sentences);
      return new ApiError('invalid_parameter', details.join('; '), details);
    },
  });
}

function sentences(problem: ValidationError): string[] {
  return [
    ...Object.values(problem.constraints ?? {}).slice(0, 1),
    ...(problem.children ?? []).flatMap(sentences),
  ];
}
