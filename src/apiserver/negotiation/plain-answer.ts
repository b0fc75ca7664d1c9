import type { JsonObject } from '../../lib/json.ts'
import {
  admitsYaml,
  allowsPlainJson,
  JSON_TYPE,
  parseAccept,
  YAML,
} from '../encoding/media-type.ts'
import { writeYaml } from '../encoding/yaml.ts'
import type { ApiRequest, Reply } from '../request/api-request.ts'
import type { StatusError } from '../status/status.ts'
import { notAcceptable } from '../status/status-errors.ts'

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
