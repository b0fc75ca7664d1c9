import { isIntegerIn } from '../../../../resources/integer.ts'
import { isLabel } from '../../../../resources/names.ts'
import type { Reader } from '../../../../resources/reader.ts'
import { checkName, LABEL_FAULT } from '../checks.ts'

const PATH_FAULT = 'must be a relative path without .., such as token'
const MIN_SECONDS = 600
const MAX_SECONDS = 2 ** 32

/** The volumes of a pod: their names, and what a projection writes where. */
export function checkVolumes(spec: Reader): void {
  const names = new Set<unknown>()
  for (const volume of spec.objects('volumes')) {
    const name = volume.value('name')
    if (typeof name !== 'string' || !isLabel(name)) volume.refuse('name', LABEL_FAULT)
    else if (names.has(name)) volume.refuse('name', 'must differ from the other volumes')
    names.add(name)
    checkItems(volume.object('configMap'))
    checkItems(volume.object('secret'))
    for (const source of volume.object('projected').objects('sources')) checkSource(source)
  }
}

function checkSource(source: Reader): void {
  for (const key of ['configMap', 'secret']) {
    if (source.value(key) === undefined) continue
    checkName(source.object(key), 'subdomain')
    checkItems(source.object(key))
  }
  if (source.value('serviceAccountToken') === undefined) return
  const token = source.object('serviceAccountToken')
  checkPath(token)
  token.text('audience')
  const seconds = token.value('expirationSeconds')
  if (seconds === undefined || isIntegerIn(seconds, MIN_SECONDS, MAX_SECONDS)) return
  token.refuse('expirationSeconds', `must be from ${MIN_SECONDS} to ${MAX_SECONDS}`)
}

function checkItems(source: Reader): void {
  for (const item of source.objects('items')) checkPath(item)
}

/** A path that leads out of its volume would overwrite files of the container. */
function checkPath(item: Reader): void {
  const path = item.value('path')
  const isInside =
    typeof path === 'string' &&
    path !== '' &&
    !path.startsWith('/') &&
    !path.split('/').includes('..')
  if (!isInside) item.refuse('path', PATH_FAULT)
}
