import { arrayAt, type Json, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { isLabel, isSubdomain } from '../../resources/names.ts'
import { isPodField } from './pod-field.ts'
import { pathFault } from './volume-path.ts'
import type { FieldFile, FileSource, KeyFile, TokenSource, VolumePlan } from './volume-plan.ts'

const TOKEN_SECONDS = 3600
const MIN_TOKEN_SECONDS = 600
const KEY = /^[-._a-zA-Z0-9]+$/

const DEFAULT_MODE = 0o644
const MAX_MODE = 0o777
const TYPES = ['projected', 'secret', 'configMap', 'downwardAPI', 'emptyDir']

/**
 * Reads `spec.volumes`. Volumes that cannot be made as specified are added to `faults`: one sentence each, with
 * the path of the field.
 */
export function readVolumes(spec: JsonObject, faults: string[]): readonly VolumePlan[] {
  const names = new Set<string>()
  return arrayAt(spec, 'volumes').flatMap((volume, index) => {
    const at = `spec.volumes[${index}]`
    const name = stringAt(volume, 'name')
    if (!isLabel(name)) faults.push(`${at}.name must be a label, not ${quote(name)}`)
    else if (names.has(name)) faults.push(`${at}.name: ${quote(name)} is another volume's`)
    names.add(name)
    return readVolume(volume, { name, at, faults })
  })
}

interface Reading {
  readonly name: string
  readonly at: string
  readonly faults: string[]
}

function readVolume(volume: Json, { name, at, faults }: Reading): readonly VolumePlan[] {
  const [type, ...others] = typesOf(volume)
  if (type === undefined || !TYPES.includes(type) || others.length > 0) {
    faults.push(unsupported(at, type, others))
    return []
  }
  if (type === 'emptyDir') {
    return [{ kind: 'empty', name, isInMemory: stringAt(volume, type, 'medium') === 'Memory' }]
  }
  const content = valueAt(volume, type)
  const own = readMode(valueAt(content, 'defaultMode'), `${at}.${type}.defaultMode`, faults)
  const shared = { kind: 'files', name, defaultMode: own ?? DEFAULT_MODE } as const
  const source = { at: `${at}.${type}`, faults, readMode }
  if (type === 'projected') return [{ ...shared, sources: readFileSources(content, source) }]
  return [{ ...shared, sources: readFileSource(type, content, source) }]
}

/** File permissions; undefined: none are given, or they are a fault. */
function readMode(mode: Json | undefined, at: string, faults: string[]): number | undefined {
  if (mode === undefined || mode === null) return undefined
  const isMode = typeof mode === 'number' && Number.isInteger(mode) && mode >= 0 && mode <= MAX_MODE
  if (isMode) return mode
  faults.push(`${at} must be file permissions from 0 to 511 (octal 0777), not ${quote(mode)}`)
  return undefined
}

function typesOf(volume: Json): readonly string[] {
  const fields = valueAt(volume) ?? {}
  return typeof fields === 'object' ? Object.keys(fields).filter((key) => key !== 'name') : []
}

function unsupported(at: string, type: string | undefined, others: readonly string[]): string {
  const known = `use one of ${TYPES.join(', ')}`
  if (type === undefined) return `${at} has no type: ${known}`
  if (others.length > 0) return `${at} has several types: ${known}`
  return `${at}.${type}: this node agent has no volumes of this type; ${known}`
}

/** How a volume is read. */
interface SourceReading {
  /** `spec.volumes[0].projected`. */
  readonly at: string
  readonly faults: string[]
  readonly readMode: (mode: Json | undefined, at: string, faults: string[]) => number | undefined
}

/** Reads `sources` of a projected volume. */
function readFileSources(projected: Json | undefined, reading: SourceReading) {
  const { at, faults } = reading
  return arrayAt(projected, 'sources').flatMap((source, index): readonly FileSource[] => {
    const path = `${at}.sources[${index}]`
    const [type, ...others] = typeof source === 'object' ? Object.keys(source ?? {}) : []
    if (type === undefined || others.length > 0) {
      faults.push(`${path} must have one type`)
      return []
    }
    return readFileSource(type, valueAt(source, type), { ...reading, at: `${path}.${type}` })
  })
}

/** Reads one source of files, at the path `at`; none when it is a fault. */
function readFileSource(
  type: string,
  source: Json | undefined,
  reading: SourceReading,
): readonly FileSource[] {
  const { at, faults } = reading
  switch (type) {
    case 'serviceAccountToken':
      return [readToken(source, reading)]
    case 'downwardAPI':
      return [{ kind: 'fields', items: readFields(source, reading) }]
    case 'configMap':
    case 'secret': {
      const isVolume = type === 'secret' && valueAt(source, 'secretName') !== undefined
      const nameKey = isVolume ? 'secretName' : 'name'
      const name = stringAt(source, nameKey)
      if (!isSubdomain(name)) faults.push(`${at}.${nameKey} must be a name, not ${quote(name)}`)
      const isOptional = valueAt(source, 'optional') === true
      const resource = type === 'secret' ? 'secrets' : 'configmaps'
      return [{ kind: 'object', resource, name, items: readKeys(source, reading), isOptional }]
    }
    default:
      faults.push(
        `${at}: this node agent projects serviceAccountToken, configMap, secret and downwardAPI only`,
      )
      return []
  }
}

function readToken(source: Json | undefined, { at, faults }: SourceReading): TokenSource {
  const seconds = valueAt(source, 'expirationSeconds') ?? TOKEN_SECONDS
  const isLong = typeof seconds === 'number' && Number.isInteger(seconds)
  if (!isLong || seconds < MIN_TOKEN_SECONDS) {
    faults.push(`${at}.expirationSeconds must be ${MIN_TOKEN_SECONDS} or more`)
  }
  return {
    kind: 'token',
    path: readPath(source, at, faults),
    audience: stringAt(source, 'audience'),
    expirationSeconds: Number(seconds),
  }
}

function readKeys(
  source: Json | undefined,
  { at, faults, readMode }: SourceReading,
): readonly KeyFile[] | undefined {
  if (arrayAt(source, 'items').length === 0) return undefined
  return arrayAt(source, 'items').map((item, index) => {
    const path = `${at}.items[${index}]`
    const key = stringAt(item, 'key')
    if (!KEY.test(key)) faults.push(`${path}.key must be a key, not ${quote(key)}`)
    const mode = readMode(valueAt(item, 'mode'), `${path}.mode`, faults)
    return { key, path: readPath(item, path, faults), mode }
  })
}

function readFields(
  source: Json | undefined,
  { at, faults, readMode }: SourceReading,
): readonly FieldFile[] {
  return arrayAt(source, 'items').map((item, index) => {
    const path = `${at}.items[${index}]`
    const field = stringAt(item, 'fieldRef', 'fieldPath')
    const isKnown = field.startsWith('metadata.') && isPodField(field)
    if (!isKnown) faults.push(`${path}: this node agent knows fieldRef of metadata only`)
    const mode = readMode(valueAt(item, 'mode'), `${path}.mode`, faults)
    return { field, path: readPath(item, path, faults), mode }
  })
}

function readPath(item: Json | undefined, at: string, faults: string[]): string {
  const path = stringAt(item, 'path')
  const fault = pathFault(path)
  if (fault !== undefined) faults.push(`${at}.path ${fault}: ${quote(path)}`)
  return path
}
