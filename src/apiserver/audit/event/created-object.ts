import { type Action, isPathAction } from '../../../auth/action.ts'
import { isJsonObject, objectAt, stringAt } from '../../../lib/json.ts'
import { JSON_TYPE } from '../../encoding/media-type.ts'
import { parseJson } from '../../encoding/parse-json.ts'
import type { Reply } from '../../request/api-request.ts'
import { StatusError } from '../../status/status.ts'

/** What identifies an object that the path of its request does not name. */
export interface CreatedObject {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
}

const MAX_DEPTH = 500

/** The object that an answer to a create shows; nothing else of it is read. */
export function createdObject(action: Action, answer: Reply): CreatedObject | undefined {
  const { body, contentType } = answer
  if (isPathAction(action) || action.verb !== 'create' || action.name !== '') return undefined
  if (!Array.isArray(body) || !contentType.startsWith(JSON_TYPE)) return undefined
  const object = parseJson(Buffer.concat(body as readonly Buffer[]), MAX_DEPTH)
  if (object instanceof StatusError || !isJsonObject(object)) return undefined
  const metadata = objectAt(object, 'metadata')
  return {
    name: stringAt(metadata, 'name'),
    uid: stringAt(metadata, 'uid'),
    resourceVersion: stringAt(metadata, 'resourceVersion'),
  }
}
