import type { Json, JsonObject } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import type { ApiRequest } from '../api-request.ts'
import { badRequest } from '../refusals.ts'
import { apiVersionOf } from '../resource.ts'
import { messageOf } from '../schema/message-of.ts'
import type { Refusal } from '../status.ts'
import { duplicateFields } from './duplicate-fields.ts'
import { unknownFields } from './unknown-fields.ts'

/** What a client sent, as far as its fields are concerned. */
export interface SentFields {
  /** The object that is to be, in the request's version. */
  readonly object: JsonObject
  /** The object that was: what it has already, nobody is warned of. */
  readonly before?: JsonObject
  /** The body where it is JSON, to be searched for names that come twice. */
  readonly body?: Buffer
}

/** An answer names this many fields. */
const MOST = 100
const LONGEST_PATH = 200

const DIRECTIVES = ['', 'Ignore', 'Warn', 'Strict']

/**
 * What `?fieldValidation=` asks for: Strict refuses fields that the kind does
 * not have or that come twice, Warn (the default) answers with a warning for
 * each, Ignore is silent.
 */
export function checkFields(request: ApiRequest, sent: SentFields): Refusal | undefined {
  const directive = request.query.get('fieldValidation') ?? ''
  if (!DIRECTIVES.includes(directive)) return badRequest(wrongDirective(directive))
  if (directive === 'Ignore') return undefined
  const problems = fieldProblems(request, sent).slice(0, MOST)
  if (problems.length === 0) return undefined
  if (directive === 'Strict') return badRequest(refusalText(request, problems))
  for (const problem of problems) request.warn(problem)
  return undefined
}

function fieldProblems({ face }: ApiRequest, sent: SentFields): readonly string[] {
  const message = messageOf(apiVersionOf(face), face.resource.kind)
  const unknown = (object: Json) => (message === undefined ? [] : unknownFields(message, object))
  const known = new Set(sent.before === undefined ? [] : unknown(sent.before))
  const added = unknown(sent.object).filter((path) => !known.has(path))
  const twice = sent.body === undefined ? [] : duplicateFields(sent.body.toString())
  return [
    ...twice.map((path) => `duplicate field "${path.slice(0, LONGEST_PATH)}"`),
    ...added.map((path) => `unknown field "${path.slice(0, LONGEST_PATH)}"`),
  ]
}

function refusalText({ face }: ApiRequest, problems: readonly string[]): string {
  const { kind } = face.resource
  const list = problems.join(', ')
  return `${kind} in version "${face.version}" cannot be handled as a ${kind}: strict decoding error: ${list}`
}

function wrongDirective(directive: string): string {
  return `fieldValidation must be Ignore, Warn or Strict, not ${quote(directive)}`
}
