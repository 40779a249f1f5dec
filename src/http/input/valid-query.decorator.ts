import { Query } from '@nestjs/common';
import { QueryValidation } from './query-validation.pipe.js';

/**
 * The query of a request, validated by the class of the argument. Not by a step for all arguments: it would have nothing to do for the
 * others, and make promises for each of them.
 */
export const ValidQuery = (): ParameterDecorator => Query(QueryValidation);
