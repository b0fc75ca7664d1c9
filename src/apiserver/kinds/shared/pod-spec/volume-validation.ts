import { posix } from 'node:path'
import { isLabel, isPathSegment } from '../../../../resources/names.ts'
import { isIntegerIn } from '../../../../resources/port.ts'
import type { Reader } from '../../../../resources/reader.ts'
import { checkName, LABEL_FAULT } from '../checks.ts'

/** The message for a path that `isInnerPath` rejects. */
export const PATH_FAULT = 'must be the relative path of a file, without .., such as token'

const MIN_SECONDS = 600
const MAX_SECONDS = 2 ** 32
const MAX_MODE = 0o777
const SOURCES = ['secret', 'configMap', 'downwardAPI', 'serviceAccountToken', 'clusterTrustBundle']

/**
 * The rules for the volumes of a Pod: their names, and the sources and paths of projections.
 * @returns the names
 */
export function checkVolumes(spec: Reader): ReadonlySet<unknown> {
  const names = new Set<unknown>()
  for (const volume of spec.objects('volumes')) {
    const name = volume.value('name')
    if (typeof name !== 'string' || !isLabel(name)) volume.refuse('name', LABEL_FAULT)
    else if (names.has(name))
      volume.refuse('name', 'must differ from the names of the other volumes')
    names.add(name)
    const [, ...others] = volume.keys().filter((key) => key !== 'name' && has(volume, key))
    for (const key of others) volume.withhold(key, 'must be the only source of this volume')
    if (has(volume, 'secret')) checkFiles(volume.object('secret'), 'secretName')
    if (has(volume, 'configMap')) checkFiles(volume.object('configMap'), 'name')
    if (has(volume, 'downwardAPI')) checkFields(volume.object('downwardAPI'), new Set())
    if (has(volume, 'projected')) checkProjected(volume.object('projected'))
  }
  return names
}

function checkFiles(volume: Reader, nameKey: string): void {
  checkName(volume, 'subdomain', nameKey)
  checkMode(volume, 'defaultMode')
  checkItems(volume, new Set())
  volume.flag('optional')
}

function checkProjected(projected: Reader): void {
  checkMode(projected, 'defaultMode')
  const paths = new Set<string>()
  for (const source of projected.objects('sources')) {
    const [, ...others] = SOURCES.filter((key) => has(source, key))
    for (const key of others) source.withhold(key, 'must be the only source of this projection')
    for (const key of ['configMap', 'secret']) {
      if (!has(source, key)) continue
      checkName(source.object(key), 'subdomain')
      checkItems(source.object(key), paths)
      source.object(key).flag('optional')
    }
    if (has(source, 'downwardAPI')) checkFields(source.object('downwardAPI'), paths)
    if (has(source, 'serviceAccountToken')) checkToken(source.object('serviceAccountToken'), paths)
    if (has(source, 'clusterTrustBundle')) checkPath(source.object('clusterTrustBundle'), paths)
  }
}

function checkToken(token: Reader, paths: Set<string>): void {
  checkPath(token, paths)
  token.text('audience')
  const seconds = token.value('expirationSeconds')
  if (seconds === undefined || isIntegerIn(seconds, MIN_SECONDS, MAX_SECONDS)) return
  token.refuse('expirationSeconds', `must be from ${MIN_SECONDS} to ${MAX_SECONDS}`)
}

/** Entries of a ConfigMap or Secret, each with its file. */
function checkItems(source: Reader, paths: Set<string>): void {
  for (const item of source.objects('items')) {
    checkDataKey(item)
    checkPath(item, paths)
    checkMode(item, 'mode')
  }
}

/** Fields of the pod, each with its file. */
function checkFields(source: Reader, paths: Set<string>): void {
  checkMode(source, 'defaultMode')
  for (const item of source.objects('items')) {
    checkPath(item, paths)
    checkMode(item, 'mode')
  }
}

/** A path must stay inside its volume, because it could otherwise overwrite files of the container. */
function checkPath(item: Reader, paths: Set<string>): void {
  const path = item.value('path')
  if (!isInnerFile(path)) {
    item.refuse('path', PATH_FAULT)
    return
  }
  const file = posix.normalize(path)
  if (paths.has(file)) item.refuse('path', 'must differ from the other paths of the volume')
  paths.add(file)
}

function checkMode(files: Reader, key: string): void {
  const mode = files.value(key)
  if (mode === undefined || isIntegerIn(mode, 0, MAX_MODE)) return
  files.refuse(key, 'must be file permissions from 0 to 511 (octal 0777)')
}

function has(object: Reader, key: string): boolean {
  return object.value(key) !== undefined
}

/** A reference to one entry of a ConfigMap or Secret, whose key must be there. */
export function checkDataKey(reference: Reader): void {
  const key = reference.value('key')
  const isKey = typeof key === 'string' && isPathSegment(key) && /^[-._a-zA-Z0-9]+$/.test(key)
  if (!isKey)
    reference.refuse('key', 'must be the key of an entry: at most 253 of a-z, A-Z, 0-9, -, _ and .')
}

/**
 * Whether a relative path stays inside its folder, and is not the folder itself. Names that begin with `..` are
 * reserved: the node stores its own files under them.
 */
export function isInnerPath(path: unknown): path is string {
  if (typeof path !== 'string' || /^(?:\/|\.\.)|\p{C}/u.test(path)) return false
  const parts = path.split('/')
  return !parts.includes('..') && parts.some((part) => part !== '' && part !== '.')
}

/** Whether a path can be that of a file in a folder. */
function isInnerFile(path: unknown): path is string {
  return isInnerPath(path) && !/(?:^|\/)\.?$/.test(path)
}
