import { createWireEncoder } from '../encoding/codec.ts'
import { YAML } from '../encoding/media-type.ts'
import { writeYaml, writeYamlItem } from '../encoding/write-yaml.ts'
import { apiVersionOf, type ServedVersion } from '../resource/resource.ts'
import type { AnswerForm, Shown } from './answer-form.ts'
import { listMetadata } from './list-metadata.ts'

/** Objects as they are, for people: in YAML. */
export function yamlRepresentation(served: ServedVersion): AnswerForm {
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

/** A list, made while it is sent. */
function* writeList(
  head: string,
  items: readonly Shown[],
  item: (shown: Shown) => string,
): Generator<Buffer> {
  yield Buffer.from(`${head}items:${items.length === 0 ? ' []' : ''}\n`)
  for (const one of items) yield Buffer.from(item(one))
}
