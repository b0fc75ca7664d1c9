import type { Clock } from '../../lib/clock.ts'
import type { JsonObject } from '../../lib/json.ts'
import { createWireEncoder, type Written } from '../encoding/codec.ts'
import {
  admitsYaml,
  allowsJson,
  allowsPlainJson,
  JSON_TYPE,
  type MediaType,
  parseAccept,
  YAML,
} from '../encoding/media-type.ts'
import { writeYaml, writeYamlItem } from '../encoding/yaml.ts'
import type { ApiRequest, Reply } from '../request/api-request.ts'
import { apiVersionOf, type ServedVersion } from '../resource/resource.ts'
import { notAcceptable, StatusError } from '../status/status.ts'
import { type AnswerForm, listMetadata, type Representation, type Shown } from './answer-form.ts'
import {
  PARTIAL_OBJECT,
  partialRepresentation,
  plainRepresentation,
} from './document-representation.ts'
import { parseIncluded, tableRepresentation } from './table-representation.ts'

/** The part of the server that writing answers uses: the clock, for the ages in tables. */
interface NegotiationContext {
  readonly clock: Clock
}

/** Whether the answer is an object or a list; it determines the kind of the metadata-only form. */
type Shape = 'object' | 'list'

/** The form of answer that the client prefers among the available ones. */
export function negotiate(
  context: NegotiationContext,
  request: ApiRequest,
  shape: Shape,
): AnswerForm | StatusError {
  for (const alternative of parseAccept(request.accept)) {
    if (admitsYaml(alternative)) return yamlRepresentation(request.served)
    const found = inJson(context, request, { alternative, shape })
    if (found !== undefined) return found
  }
  return notAcceptable([JSON_TYPE, YAML])
}

/** The same for the events of a watch, which are always JSON. */
export function negotiateEvents(
  context: NegotiationContext,
  request: ApiRequest,
): Representation | StatusError {
  for (const alternative of parseAccept(request.accept)) {
    const found = inJson(context, request, { alternative, shape: 'object' })
    if (found !== undefined) return found
  }
  return notAcceptable([JSON_TYPE])
}

interface Preference {
  readonly alternative: MediaType
  readonly shape: Shape
}

function inJson(
  context: NegotiationContext,
  request: ApiRequest,
  preference: Preference,
): Representation | StatusError | undefined {
  const { alternative } = preference
  if (allowsPlainJson(alternative)) return plainRepresentation(request.served)
  return allowsJson(alternative) ? transformed(context, request, preference) : undefined
}

/** The form that converts objects to another kind (`as`); undefined: there is no such form. */
function transformed(
  { clock }: NegotiationContext,
  { served, query }: ApiRequest,
  { alternative: { parameters }, shape }: Preference,
): Representation | StatusError | undefined {
  const version = parameters.get('v') ?? ''
  if (parameters.get('g') !== 'meta.k8s.io') return undefined
  if (version !== 'v1' && version !== 'v1beta1') return undefined
  const partial = shape === 'list' ? `${PARTIAL_OBJECT}List` : PARTIAL_OBJECT
  const as = parameters.get('as')
  if (as === partial) return partialRepresentation(version)
  if (as !== 'Table') return undefined
  const include = parseIncluded(query)
  return include instanceof StatusError
    ? include
    : tableRepresentation({ served, version, include, clock })
}

/** One object as an answer. */
export function objectReply(
  context: NegotiationContext,
  request: ApiRequest,
  code: number,
  written: Written,
): Reply | StatusError {
  const representation = negotiate(context, request, 'object')
  if (representation instanceof StatusError) return representation
  const shown = { value: written.value, revision: written.modRevision }
  const { contentType } = representation
  return { code, contentType, body: [representation.object(shown)] }
}

/** Whole objects in YAML, for people. */
function yamlRepresentation(served: ServedVersion): AnswerForm {
  const wire = createWireEncoder(served)
  const type = { apiVersion: apiVersionOf(served), kind: served.resource.kind }
  const list = { ...type, kind: `${type.kind}List` }
  return {
    contentType: YAML,
    object: ({ value, revision }) =>
      Buffer.from(writeYaml(wire.object(value, revision).toString())),
    list: (items, meta) =>
      writeList(
        writeYaml(JSON.stringify({ ...list, metadata: listMetadata(meta) })),
        items,
        ({ value, revision }) => writeYamlItem(wire.item(value, revision).toString()),
      ),
  }
}

/** A list that is generated while it is sent. */
function* writeList(
  head: string,
  items: readonly Shown[],
  item: (shown: Shown) => string,
): Generator<Buffer> {
  yield Buffer.from(`${head}items:${items.length === 0 ? ' []' : ''}\n`)
  for (const one of items) yield Buffer.from(item(one))
}

/** The answer (201) with a document that is not a stored object, in JSON or YAML. */
export function plainAnswer({ accept }: ApiRequest, document: JsonObject): Reply | StatusError {
  const text = JSON.stringify(document)
  for (const alternative of parseAccept(accept)) {
    if (admitsYaml(alternative)) return reply(YAML, writeYaml(text))
    if (allowsPlainJson(alternative)) return reply(JSON_TYPE, `${text}\n`)
  }
  return notAcceptable([JSON_TYPE, YAML])
}

function reply(contentType: string, text: string): Reply {
  return { code: 201, contentType, body: [Buffer.from(text)] }
}
